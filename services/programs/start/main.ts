// npm start: the whole system in one process on one machine; the services still talk to each other over gRPC.
import { join } from 'node:path';
import { startAccounts } from '../../accounts/service.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../embedded-postgres/embedded-postgres.ts';
import { type Audit, createAudit } from '../../platform/logging/audit.ts';
import { createLogger, type Logger } from '../../platform/logging/logger.ts';
import {
  type ProcessTelemetry,
  startTelemetry,
  type Telemetry,
} from '../../platform/observability/telemetry.ts';
import { runProcess } from '../../platform/process/lifecycle.ts';
import { startRest } from '../../rest/service.ts';
import { startScheduling } from '../../scheduling/service.ts';
import { makeDemoUser } from './demo-user.ts';
import { keepSecrets, readStartSettings, type Secrets, type StartSettings } from './settings.ts';

await runProcess(async () => {
  const settings = readStartSettings(process.env);
  const logger = createLogger('start', settings.rest.logLevel);
  const telemetry = await startTelemetry({ config: settings.watching, name: 'start', logger });
  const closers: (() => Promise<void>)[] = [telemetry.close];
  const close = async () => {
    telemetry.stopping();
    // Stops parts in reverse order, so that dependencies end last.
    for (const closer of closers.reverse()) await closer();
  };
  try {
    const { failed } = await startAll({ settings, logger, telemetry }, closers);
    telemetry.started();
    return { logger, timeoutMs: settings.rest.shutdownTimeoutMs, close, failed };
  } catch (error) {
    await close();
    throw error;
  }
});

async function startAll(
  { settings, logger, telemetry }: { settings: StartSettings; logger: Logger; telemetry: ProcessTelemetry },
  closers: (() => Promise<void>)[],
): Promise<{ failed: Promise<Error | undefined> | undefined }> {
  const { rest, dataDir } = settings;
  const now = () => new Date();
  const common = { logger, now, telemetry };
  const { databaseUrl, stop, exited } = await openDatabase(settings, logger);
  closers.push(stop);
  // Only now: the embedded server's lock excludes concurrent first starts in this folder.
  const secrets = keepSecrets(process.env, settings);
  const kept = readStartSettings(process.env, secrets);
  const drainMs = Math.floor(rest.shutdownTimeoutMs / 2);
  const audit = createAudit('start');
  const accounts = await startAccounts({ config: { ...kept.accounts, databaseUrl }, audit, ...common });
  closers.push(() => accounts.close(drainMs));
  const scheduling = await startScheduling({ config: { ...settings.scheduling, databaseUrl }, ...common });
  closers.push(() => scheduling.close(drainMs));
  const schedulingTarget = `127.0.0.1:${scheduling.port}`;
  const accountsTarget = `127.0.0.1:${accounts.port}`;
  const targets = { schedulingTarget, accountsTarget };
  const facade = await startRest({ config: { ...rest, schedulingTarget, accountsTarget }, ...common });
  closers.push(facade.close);

  const reminders = await startRemindersIfOn(kept.reminders, { ...targets, databaseUrl }, common);
  if (reminders !== undefined) closers.push(() => reminders.close(drainMs));
  const remindersTarget = reminders && `127.0.0.1:${reminders.port}`;

  const all = { ...targets, remindersTarget };
  const gateway = await startGatewayIfOn(kept.gateway, { ...all, logger, audit, telemetry });
  if (gateway !== undefined) closers.push(gateway.close);

  const url = (port: number) => `http://${reachable(rest.host)}:${port}`;
  printAddresses([
    ['REST API', `${url(facade.port)}/v1`],
    ['API docs', rest.docs ? `${url(facade.port)}/docs` : undefined],
    ['GraphQL', gateway && `${url(gateway.port)}/graphql`],
    ['GraphiQL', gateway && `${url(gateway.port)}/`],
    ['dashboard', gateway && `${url(gateway.port)}/dashboard`],
    ['gateway token', gateway && whereTokenIs(settings, secrets)],
    ['scheduling (gRPC)', schedulingTarget],
    ['accounts (gRPC)', accountsTarget],
    ['reminders (gRPC)', remindersTarget],
    ['reminders’ links', kept.reminders?.publicUrl],
    ['mails', kept.reminders && whereMailsGo(kept.reminders)],
    ['health, metrics', telemetry.opsPort && `${opsUrl(settings, telemetry.opsPort)}/ready, /metrics`],
    ['database', settings.databaseUrl === undefined ? `embedded PostgreSQL in ${dataDir}` : 'DATABASE_URL'],
    ['write limit', rest.redisUrl === undefined ? 'in this process' : 'Redis'],
  ]);
  if (settings.databaseUrl === undefined) {
    const baseUrl = `${url(facade.port)}/v1`;
    process.stdout.write(await makeDemoUser({ accountsTarget, trust: rest.trust, baseUrl }));
  }
  process.stdout.write('Ready. Press Ctrl-C to stop.\n');
  return { failed: exited };
}

/** Loads Apollo only if the gateway is on. */
async function startGatewayIfOn(
  gateway: StartSettings['gateway'],
  parts: {
    schedulingTarget: string;
    accountsTarget: string;
    remindersTarget: string | undefined;
    logger: Logger;
    audit: Audit;
    telemetry: Telemetry;
  },
) {
  if (gateway === undefined) return undefined;
  const { schedulingTarget, accountsTarget, remindersTarget, ...rest } = parts;
  const { startGateway } = await import('../../../gateway/service.ts');
  return startGateway({ config: { ...gateway, schedulingTarget, accountsTarget, remindersTarget }, ...rest });
}

/** Loads the mail and push programs only if reminders are on. */
async function startRemindersIfOn(
  reminders: StartSettings['reminders'],
  places: { databaseUrl: string; schedulingTarget: string; accountsTarget: string },
  common: { logger: Logger; now: () => Date; telemetry: Telemetry },
) {
  if (reminders === undefined) return undefined;
  const { startReminders } = await import('../../reminders/service.ts');
  return startReminders({ config: { ...reminders, ...places }, ...common });
}

function whereMailsGo({ mail }: NonNullable<StartSettings['reminders']>): string {
  return 'mailDir' in mail ? `as .eml files in ${mail.mailDir}` : 'by SMTP_URL';
}

/** Prints the token only on a terminal, since other output can be stored. */
function whereTokenIs({ gatewayTokenFile }: StartSettings, { gatewayToken }: Secrets): string {
  if (gatewayTokenFile === undefined) return 'from GATEWAY_TOKENS';
  return process.stdout.isTTY ? gatewayToken : `in ${gatewayTokenFile}`;
}

function reachable(host: string): string {
  const local = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return local.includes(':') ? `[${local}]` : local;
}

function opsUrl({ watching }: StartSettings, port: number): string {
  return `http://${reachable(watching.ops?.host ?? '127.0.0.1')}:${port}`;
}

function printAddresses(rows: readonly [string, string | 0 | undefined][]): void {
  const lines = rows.flatMap(([name, value]) => (!value ? [] : `  ${name.padEnd(18)} ${value}`));
  process.stdout.write(`\n${lines.join('\n')}\n\n`);
}

type StartDatabase = Pick<EmbeddedPostgres, 'databaseUrl' | 'stop'> &
  Partial<Pick<EmbeddedPostgres, 'exited'>>;

/** DATABASE_URL, else the embedded server. */
async function openDatabase({ databaseUrl, dataDir }: StartSettings, logger: Logger): Promise<StartDatabase> {
  if (databaseUrl !== undefined) return { databaseUrl, stop: async () => {} };
  return startEmbeddedPostgres({
    directory: join(dataDir, 'postgres'),
    notice: (text) => process.stdout.write(`${text}\n`),
    onRestart: (text) => logger.error(text),
  });
}
