// Starts all services in this process, where they call each other without a network, and stops them in reverse order.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SCOPES } from '../../accounts/keys/rules.ts';
import { startAccounts } from '../../accounts/service.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../embedded-postgres/embedded-postgres.ts';
import type { Logger } from '../../platform/logging/logger.ts';
import { type ProcessTelemetry, startTelemetry } from '../../platform/observability/telemetry.ts';
import { certificateCheck } from '../../platform/process/certificate-dates.ts';
import type { GrpcTrust } from '../../platform/process/common-config.ts';
import { requireFreePorts } from '../../platform/process/ports.ts';
import { closeInReverse, type RunningProcess, runProcess } from '../../platform/process/run-service.ts';
import type { Narrator } from '../../platform/process/terminal.ts';
import { unknownVariables } from '../../platform/process/variables.ts';
import { startRest } from '../../rest/service.ts';
import { startScheduling } from '../../scheduling/service.ts';
import { createAccountsClients } from '../keys/clients.ts';
import { clusterFolder } from '../program-database.ts';
import { openStartLog, type StartLog } from './log.ts';
import { DEMO_EMAIL, toAddresses, toScreen } from './screen.ts';
import { keepSecrets, portsOf, readStartSettings, type StartSettings } from './settings.ts';

/** Time within which a signal reaches its handler, unless the event loop is blocked. */
const SIGNAL_DELAY_MS = 50;

/** Runs until a signal. `narrator` says what is being started; on a terminal, a last line says where the data is. */
export async function runSystem(narrator: Narrator): Promise<void> {
  await runProcess((stopping) => begin(narrator, stopping).finally(narrator.end));
}

const hintOf = (meant: string | undefined) =>
  meant === undefined ? 'docs/configuration.md lists them.' : `Did you mean ${meant}?`;

async function begin(narrator: Narrator, stopping: AbortSignal): Promise<RunningProcess> {
  const settings = readStartSettings(process.env);
  await requireFreePorts(portsOf(settings));
  const log = openStartLog(settings.dataDir, settings.logLevel);
  const { logger } = log;
  for (const [variable, meant] of unknownVariables(process.env)) {
    if (log.file === undefined) logger.warn({ variable, meant }, 'unknown variable');
    else narrator.line(`${variable} is not a variable of this program. ${hintOf(meant)}`);
  }
  const telemetry = await startTelemetry({ config: settings.watching, name: 'start', logger });
  const { tls } = settings.rest.trust;
  if (tls !== undefined) telemetry.readiness.add(certificateCheck(tls.certificate));
  const closers: (() => Promise<void>)[] = [telemetry.close];
  const sayStopping = () => narrator.say('stopping');
  const close = async () => {
    telemetry.stopping();
    await closeInReverse(closers);
  };
  try {
    stopping.addEventListener('abort', sayStopping);
    const say = (text: string) => {
      stopping.throwIfAborted();
      narrator.say(text);
    };
    const { failed, screen } = await startAll(
      { settings, log, telemetry, stopping, narrator: { ...narrator, say } },
      closers,
    );
    stopping.throwIfAborted();
    stopping.removeEventListener('abort', sayStopping);
    telemetry.started();
    narrator.end();
    process.stdout.write(screen);
    return {
      logger,
      timeoutMs: settings.rest.shutdownTimeoutMs,
      close: withGoodbye(close, settings),
      failed,
    };
  } catch (error) {
    // Ctrl-C also ends the database, so the start can fail before this process has handled its own signal.
    await sleep(SIGNAL_DELAY_MS);
    narrator.end();
    if (!stopping.aborted) {
      await close();
      throw error;
    }
    await withGoodbye(close, settings)();
    throw stopping.reason;
  }
}

/** Only on a terminal: other output may be closed by then. */
function withGoodbye(
  close: () => Promise<void>,
  { databaseUrl, dataDir }: StartSettings,
): () => Promise<void> {
  if (!process.stdout.isTTY) return close;
  return async () => {
    process.stdout.write('\nStopping.\n');
    await close();
    const place = databaseUrl === undefined ? dataDir : 'the database of DATABASE_URL';
    process.stdout.write(`Stopped. Your data is in ${place}; npm start continues with it.\n`);
  };
}

async function startAll(
  {
    settings,
    log: { logger, audit, file },
    telemetry,
    stopping,
    narrator,
  }: {
    settings: StartSettings;
    log: StartLog;
    telemetry: ProcessTelemetry;
    stopping: AbortSignal;
    narrator: Narrator;
  },
  closers: (() => Promise<void>)[],
): Promise<{ failed: Promise<Error | undefined> | undefined; screen: string }> {
  const { rest } = settings;
  const common = { logger, telemetry, stopping };
  const { databaseUrl, stop, exited } = await openDatabase(settings, { logger, narrator, stopping });
  closers.push(stop);
  // Only now: the embedded server's lock excludes concurrent first starts in this folder.
  const secrets = keepSecrets(settings);
  const kept = readStartSettings(settings.environment, secrets);
  const drainMs = Math.floor(rest.shutdownTimeoutMs / 2);
  narrator.say('starting accounts');
  const accounts = await startAccounts({ config: { ...kept.accounts, databaseUrl }, audit, ...common });
  closers.push(() => accounts.close(drainMs));
  narrator.say('starting scheduling');
  const scheduling = await startScheduling({ config: { ...settings.scheduling, databaseUrl }, ...common });
  closers.push(() => scheduling.close(drainMs));
  const accountsTarget = `127.0.0.1:${accounts.port}`;
  const targets = { schedulingTarget: `127.0.0.1:${scheduling.port}`, accountsTarget };
  const locals = { 'accounts.v1': accounts.local, 'scheduling.v1': scheduling.local };

  let closeReminders: (() => Promise<void>) | undefined;
  closers.push(async () => closeReminders?.());
  // Together, before the services that they call, since each waits for DRAIN_MS and for its clients.
  const httpClosers: (() => Promise<void>)[] = [];
  closers.push(async () => {
    await Promise.all(httpClosers.map((close) => close()));
  });
  narrator.say('starting the REST API');
  const facade = await startRest({ config: { ...rest, ...targets }, locals, ...common });
  httpClosers.push(facade.close);

  // A part that is off is not loaded: neither the programs for mail and push, nor Apollo. To load them and to start REST keeps this
  // process busy for longer than the loops of reminders wait for a connection, so both come before.
  const remindersService = kept.reminders && (await import('../../reminders/service.ts'));
  const gatewayApp = kept.gateway && (await import('../../../gateway/app.ts'));

  if (kept.reminders !== undefined) narrator.say('starting reminders');
  const reminders =
    kept.reminders &&
    (await remindersService?.startReminders({
      config: { ...kept.reminders, ...targets, databaseUrl },
      locals,
      ...common,
    }));
  if (reminders !== undefined) {
    closeReminders = () => reminders.close(drainMs);
    httpClosers.push(reminders.closeHttp);
  }
  const remindersTarget = reminders && `127.0.0.1:${reminders.port}`;

  const all = { ...targets, remindersTarget };
  if (kept.gateway !== undefined) narrator.say('starting the gateway');
  const gateway =
    kept.gateway &&
    (await gatewayApp?.startGateway({
      config: { ...kept.gateway, ...all },
      audit,
      locals: { ...locals, 'reminders.v1': reminders?.local },
      ...common,
    }));
  if (gateway !== undefined) httpClosers.push(gateway.close);

  const isEmbedded = settings.databaseUrl === undefined;
  const { rows, baseUrl } = toAddresses({
    settings,
    token: secrets.gatewayToken,
    restPort: facade.port,
    redisFault: facade.redisFault,
    gatewayPort: gateway?.port,
    opsPort: telemetry.opsPort,
    ...all,
    logFile: file,
  });
  const key = isEmbedded ? await makeDemoUser({ accountsTarget, trust: rest.trust }) : undefined;
  const dataDir = isEmbedded ? settings.dataDir : undefined;
  return {
    failed: exited,
    screen: toScreen({
      rows,
      baseUrl,
      key,
      dataDir,
      accountsPort: accounts.port,
      hasGateway: gateway !== undefined,
    }),
  };
}

type StartDatabase = Pick<EmbeddedPostgres, 'databaseUrl' | 'stop'> &
  Partial<Pick<EmbeddedPostgres, 'exited'>>;

/** DATABASE_URL, else the embedded server. */
export async function openDatabase(
  { databaseUrl, dataDir }: StartSettings,
  { logger, narrator, stopping }: { logger: Logger; narrator: Narrator; stopping: AbortSignal },
): Promise<StartDatabase> {
  if (databaseUrl !== undefined) return { databaseUrl, stop: async () => {} };
  const directory = clusterFolder(dataDir);
  narrator.say(existsSync(join(directory, 'data')) ? 'starting PostgreSQL' : 'creating the database');
  return startEmbeddedPostgres({
    directory,
    notice(text) {
      narrator.end();
      process.stdout.write(`${text}\n`);
    },
    onRestart: (text) => logger.error(text),
    signal: stopping,
  });
}

/** @returns its API key, which is not stored anywhere; undefined if there is a user already. */
export async function makeDemoUser(options: {
  accountsTarget: string;
  trust: GrpcTrust;
}): Promise<string | undefined> {
  const { accountsTarget, trust } = options;
  const clients = createAccountsClients({ target: accountsTarget, trust, caller: 'start' });
  const { users, apiKeys } = clients;
  const call = { requestId: 'demo-user' };
  try {
    const existing = await users.listUsers({ pageSize: 1 }, call);
    if (existing.users.length > 0) return undefined;
    const { user } = await users.createUser({ email: DEMO_EMAIL, firstName: 'Demo' }, call);
    if (user === null) throw new Error('accounts created no user');
    const { key } = await apiKeys.createApiKey(
      { userId: user.userId, name: 'demo', scopes: [...SCOPES] },
      call,
    );
    return key;
  } finally {
    clients.close();
  }
}
