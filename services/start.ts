// npm start: the whole system in one process on one machine; the services still talk to each other over gRPC.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readGatewayConfig } from '../gateway/config.ts';
import { readAccountsConfig } from './accounts/config.ts';
import { startAccounts } from './accounts/service.ts';
import { type Audit, createAudit } from './platform/audit.ts';
import { ConfigError, type Environment, type EnvironmentReader, readEnvironment } from './platform/config.ts';
import { startEmbeddedPostgres } from './platform/embedded-postgres/embedded-postgres.ts';
import { createLogger, type Logger } from './platform/logger.ts';
import {
  type ProcessTelemetry,
  readTelemetryConfig,
  startTelemetry,
  type Telemetry,
} from './platform/ops/telemetry.ts';
import { runProcess } from './platform/process.ts';
import { readRestConfig } from './rest/config.ts';
import { startRest } from './rest/service.ts';
import { readSchedulingConfig } from './scheduling/config.ts';
import { startScheduling } from './scheduling/service.ts';
import { makeDemoUser } from './start-demo-user.ts';

await runProcess(async () => {
  const settings = readSettings(process.env);
  const logger = createLogger('start', settings.rest.logLevel);
  const telemetry = await startTelemetry({ config: settings.watching, name: 'start', logger });
  const closers: (() => Promise<void>)[] = [telemetry.close];
  const close = async () => {
    telemetry.stopping();
    // What was started last ends first: nothing loses what it stands on while it still works.
    for (const closer of closers.reverse()) await closer();
  };
  try {
    await startAll({ settings, logger, telemetry }, closers);
    telemetry.started();
  } catch (error) {
    await close();
    throw error;
  }
  return { logger, timeoutMs: settings.rest.shutdownTimeoutMs, close };
});

type Settings = ReturnType<typeof readSettings>;

async function startAll(
  { settings, logger, telemetry }: { settings: Settings; logger: Logger; telemetry: ProcessTelemetry },
  closers: (() => Promise<void>)[],
): Promise<void> {
  const { rest, dataDir } = settings;
  const now = () => new Date();
  const common = { logger, now, telemetry };
  const databaseUrl = settings.databaseUrl ?? (await startDatabase(dataDir, closers));
  const drainMs = Math.floor(rest.shutdownTimeoutMs / 2);
  const audit = createAudit('start');
  const accounts = await startAccounts({ config: { ...settings.accounts, databaseUrl }, audit, ...common });
  closers.push(() => accounts.close(drainMs));
  const scheduling = await startScheduling({ config: { ...settings.scheduling, databaseUrl }, ...common });
  closers.push(() => scheduling.close(drainMs));
  const schedulingTarget = `127.0.0.1:${scheduling.port}`;
  const accountsTarget = `127.0.0.1:${accounts.port}`;
  const targets = { schedulingTarget, accountsTarget };
  const facade = await startRest({ config: { ...rest, schedulingTarget, accountsTarget }, ...common });
  closers.push(facade.close);

  const gateway = await startGatewayIfOn(settings, { ...targets, logger, audit, telemetry });
  if (gateway !== undefined) closers.push(gateway.close);

  const url = (port: number) => `http://${reachable(rest.host)}:${port}`;
  printAddresses([
    ['REST API', `${url(facade.port)}/v1`],
    ['API docs', rest.docs ? `${url(facade.port)}/docs` : undefined],
    ['GraphQL', gateway && `${url(gateway.port)}/graphql`],
    ['GraphiQL', gateway && `${url(gateway.port)}/`],
    ['dashboard', gateway && `${url(gateway.port)}/dashboard`],
    ['gateway token', gateway?.tokenHint],
    ['scheduling (gRPC)', schedulingTarget],
    ['accounts (gRPC)', accountsTarget],
    ['health, metrics', telemetry.opsPort && `${opsUrl(settings, telemetry.opsPort)}/ready, /metrics`],
    ['database', settings.databaseUrl === undefined ? `embedded PostgreSQL in ${dataDir}` : 'DATABASE_URL'],
    ['write limit', rest.redisUrl === undefined ? 'in this process' : 'Redis'],
  ]);
  if (settings.databaseUrl === undefined) {
    const baseUrl = `${url(facade.port)}/v1`;
    process.stdout.write(await makeDemoUser({ accountsTarget, trust: rest.trust, baseUrl }));
  }
  process.stdout.write('Ready. Ctrl-C ends it.\n');
}

/** Apollo is loaded only where it is wanted. */
async function startGatewayIfOn(
  { gateway }: Settings,
  parts: {
    schedulingTarget: string;
    accountsTarget: string;
    logger: Logger;
    audit: Audit;
    telemetry: Telemetry;
  },
) {
  if (gateway === undefined) return undefined;
  const { schedulingTarget, accountsTarget, ...rest } = parts;
  const { startGateway } = await import('../gateway/service.ts');
  const config = { ...gateway.config, schedulingTarget, accountsTarget };
  return { ...(await startGateway({ config, ...rest })), tokenHint: gateway.tokenHint };
}

function reachable(host: string): string {
  const local = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return local.includes(':') ? `[${local}]` : local;
}

function opsUrl({ watching }: Settings, port: number): string {
  return `http://${reachable(watching.ops?.host ?? '127.0.0.1')}:${port}`;
}

function printAddresses(rows: readonly [string, string | 0 | undefined][]): void {
  const lines = rows.flatMap(([name, value]) => (!value ? [] : `  ${name.padEnd(18)} ${value}`));
  process.stdout.write(`\n${lines.join('\n')}\n\n`);
}

async function startDatabase(dataDir: string, closers: (() => Promise<void>)[]): Promise<string> {
  const postgres = await startEmbeddedPostgres({
    directory: join(dataDir, 'postgres'),
    notice: (text) => process.stdout.write(`${text}\n`),
  });
  closers.push(postgres.stop);
  return postgres.databaseUrl;
}

/** Every variable of every part, all bad ones reported together. HOST moves REST only: gRPC stays on loopback. */
function readSettings(environment: Environment) {
  const problems: string[] = [];
  const read = <T>(variables: Environment, reading: (reader: EnvironmentReader) => T): T | undefined => {
    try {
      return readEnvironment(variables, reading);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
      return undefined;
    }
  };
  const dataDir = environment.DATA_DIR || '.data';
  const inner = {
    ...environment,
    HOST: '127.0.0.1',
    DATABASE_URL: environment.DATABASE_URL || 'embedded',
    KEY_PEPPER: environment.KEY_PEPPER || keptPepper(dataDir),
  };
  const rest = read(environment, readRestConfig);
  const accounts = read(inner, readAccountsConfig);
  const scheduling = read(inner, readSchedulingConfig);
  const gateway = readGateway(environment, dataDir, read);
  const watching = read(environment, readTelemetryConfig);
  if (!rest || !accounts || !scheduling || !watching) {
    throw new ConfigError([...new Set(problems)]);
  }
  const databaseUrl = environment.DATABASE_URL || undefined;
  return { dataDir, databaseUrl, rest, accounts, scheduling, gateway, watching };
}

/** undefined: GATEWAY=off. Without GATEWAY_TOKENS there is one operator's token, kept like the pepper. */
function readGateway(
  environment: Environment,
  dataDir: string,
  read: <T>(variables: Environment, reading: (reader: EnvironmentReader) => T) => T | undefined,
) {
  const state = read(environment, (reader) => reader.oneOf('GATEWAY', ['on', 'off'], 'on'));
  if (state !== 'on') return undefined;
  const file = join(dataDir, 'gateway-token');
  const isGiven = Boolean(environment.GATEWAY_TOKENS);
  const token = isGiven ? '' : keptSecret(file, () => randomBytes(32).toString('hex'));
  const tokens = isGiven ? environment.GATEWAY_TOKENS : `operator:operator:${token}`;
  const config = read({ ...environment, GATEWAY_TOKENS: tokens }, readGatewayConfig);
  if (config === undefined) return undefined;
  // A file's path where what is printed may be kept.
  const kept = process.stdout.isTTY ? token : `in ${file}`;
  return { config, tokenHint: isGiven ? 'from GATEWAY_TOKENS' : kept };
}

/** Without the one of before, no key of this data directory would be valid any more. */
function keptPepper(dataDir: string): string {
  return keptSecret(join(dataDir, 'key-pepper'), () => `1:${randomBytes(32).toString('hex')}`);
}

/** Made once, kept in a file that only its owner reads. */
function keptSecret(file: string, make: () => string): string {
  if (!existsSync(file)) {
    mkdirSync(dirname(file), { recursive: true });
    const partial = `${file}.${process.pid}`;
    writeFileSync(partial, `${make()}\n`, { mode: 0o600 });
    renameSync(partial, file);
  }
  return readFileSync(file, 'utf8').trim();
}
