// The environment of npm start: all variables of all parts, with invalid ones reported together.
import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readGatewayConfig } from '../../../gateway/config.ts';
import { readAccountsConfig } from '../../accounts/config.ts';
import { readTelemetryConfig } from '../../platform/observability/telemetry.ts';
import { requireUsableTls } from '../../platform/process/common-config.ts';
import {
  ConfigError,
  type Environment,
  type EnvironmentReader,
  readCollecting,
  readSecretFiles,
} from '../../platform/process/config.ts';
import type { WantedPort } from '../../platform/process/ports.ts';
import { makeWritableFolder } from '../../platform/process/writable-folder.ts';
import { errorCode } from '../../platform/thrown.ts';
import { makeVapidKeys } from '../../reminders/channels/vapid-keys.ts';
import { readRemindersConfig } from '../../reminders/config.ts';
import { readRestConfig } from '../../rest/config.ts';
import { readSchedulingConfig } from '../../scheduling/config.ts';
import { dataDirOf } from '../program-database.ts';

export type StartSettings = ReturnType<typeof readStartSettings>;
/** The secrets that npm start generates if the environment has none. */
type Secrets = { pepper: string; gatewayToken: string; vapidKeys: string | undefined };

/** Placeholders of valid form for values that are not known yet, so that the rest can be checked. Never used. */
export const STAND_INS: Secrets = {
  pepper: `1:${'x'.repeat(32)}`,
  gatewayToken: 'x'.repeat(32),
  vapidKeys: undefined,
};

/**
 * `kept` has the secrets for an environment without any.
 * @throws ConfigError that names every invalid variable.
 */
export function readStartSettings(given: Environment, kept: Secrets = STAND_INS) {
  const { settings, problems } = readParts(given, kept);
  if (settings.scheduling.databaseSessionUrl !== undefined && settings.databaseUrl === undefined)
    problems.add(
      'DATABASE_SESSION_URL is set, but DATABASE_URL is not: the first is for the database of the second',
    );
  if (problems.size > 0) throw new ConfigError([...problems]);
  requireUsableTls(settings.rest.trust.tls);
  return settings;
}

/**
 * What every part reads; an invalid variable is a problem, and its default in the settings. `isStart`: gRPC stays on loopback, and
 * mails need no server; default true.
 */
export function readParts(given: Environment, kept: Secrets, isStart = true) {
  const { environment, problems: ofFiles } = readSecretFiles(given);
  const problems = new Set(ofFiles);
  const read = <T>(variables: Environment, reading: (reader: EnvironmentReader) => T) =>
    readCollecting(problems, variables, reading);
  const dataDir = dataDirOf(environment);
  const inner = {
    ...environment,
    DATABASE_URL: environment.DATABASE_URL || 'postgres://stand-in',
    KEY_PEPPER: environment.KEY_PEPPER || kept.pepper,
    MAIL_DIR: environment.MAIL_DIR || (isStart ? join(dataDir, 'mail') : undefined),
    VAPID_KEYS: environment.VAPID_KEYS || kept.vapidKeys,
    // HOST applies to REST and the gateway only. Without a database of its own, a program serves no gRPC beyond loopback either.
    HOST: isStart || !environment.DATABASE_URL ? '127.0.0.1' : environment.HOST,
  };
  const tokens = environment.GATEWAY_TOKENS || operatorEntry(kept.gatewayToken);
  const rest = read(environment, readRestConfig);
  const accounts = read(inner, readAccountsConfig);
  const scheduling = read(inner, readSchedulingConfig);
  const gatewayOn = read(environment, (reader) => reader.isOn('GATEWAY'));
  const remindersOn = read(environment, (reader) => reader.isOn('REMINDERS'));
  const needsReminders = isStart || OF_REMINDERS.some((name) => environment[name]);
  const settings = {
    /** The given environment, with the secrets that files contain. */
    environment,
    dataDir,
    /** undefined: the embedded PostgreSQL of `dataDir`. */
    databaseUrl: environment.DATABASE_URL ? scheduling.databaseUrl : undefined,
    rest,
    accounts,
    scheduling,
    /** undefined: GATEWAY=off. */
    gateway: gatewayOn ? read({ ...environment, GATEWAY_TOKENS: tokens }, readGatewayConfig) : undefined,
    /** undefined: REMINDERS=off, or the environment of a program that does not need them. */
    reminders: remindersOn && needsReminders ? read(inner, readRemindersConfig) : undefined,
    /** The file with the gateway token; undefined if GATEWAY_TOKENS is set. */
    gatewayTokenFile: environment.GATEWAY_TOKENS ? undefined : join(dataDir, 'gateway-token'),
    watching: read(environment, readTelemetryConfig),
    /** undefined: LOG_LEVEL is not set. */
    logLevel: environment.LOG_LEVEL ? rest.logLevel : undefined,
  };
  return { settings, problems };
}

/** An environment that sets one of these is for the reminders service. */
const OF_REMINDERS = ['SMTP_URL', 'MAIL_DIR', 'MAIL_FROM', 'PUBLIC_URL', 'APP_URL', 'VAPID_KEYS'];

/** Every port of the parts. */
export function portsOf({
  rest,
  gateway,
  scheduling,
  accounts,
  reminders,
  watching,
}: Pick<
  StartSettings,
  'rest' | 'gateway' | 'scheduling' | 'accounts' | 'reminders' | 'watching'
>): WantedPort[] {
  const { ops } = watching;
  return [
    { name: 'REST_PORT', host: rest.host, port: rest.port },
    ...(gateway ? [{ name: 'GRAPHQL_PORT', host: gateway.host, port: gateway.port }] : []),
    { name: 'SCHEDULING_PORT', host: scheduling.host, port: scheduling.port },
    { name: 'ACCOUNTS_PORT', host: accounts.host, port: accounts.port },
    ...(reminders
      ? [
          { name: 'REMINDERS_PORT', host: reminders.host, port: reminders.port },
          { name: 'REMINDERS_HTTP_PORT', host: reminders.host, port: reminders.httpPort },
        ]
      : []),
    ...(ops ? [{ name: 'OPS_PORT', ...ops }] : []),
  ];
}

/** The generated entry of GATEWAY_TOKENS. */
function operatorEntry(token: string): string {
  return `operator:operator:${token}`;
}

/** Stored or new secrets, only for those that the environment lacks. */
export function keepSecrets(settings: StartSettings): Secrets {
  const { environment, dataDir, gateway, gatewayTokenFile, reminders } = settings;
  const random = () => randomBytes(32).toString('hex');
  const needsToken = gateway !== undefined && gatewayTokenFile !== undefined;
  return {
    // Without the stored pepper, no key of this data folder is valid.
    pepper: environment.KEY_PEPPER || keepSecret(join(dataDir, 'key-pepper'), () => `1:${random()}`),
    gatewayToken: needsToken ? keepSecret(gatewayTokenFile, random) : STAND_INS.gatewayToken,
    // Browsers subscribe for this pair alone.
    vapidKeys:
      reminders === undefined || environment.VAPID_KEYS
        ? undefined
        : keepSecret(join(dataDir, 'vapid-keys'), makeVapidKeys),
  };
}

/** The content of `file`, created with `make` if missing; safe in concurrent starts. @throws Error if the folder is not writable. */
export function keepSecret(file: string, make: () => string): string {
  if (!existsSync(file)) {
    makeWritableFolder(dirname(file));
    const partial = `${file}.${randomBytes(8).toString('hex')}`;
    try {
      writeFileSync(partial, `${make()}\n`, { mode: 0o600, flag: 'wx', flush: true });
      // Not renamed, which would overwrite the file of another start.
      linkSync(partial, file);
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
    } finally {
      rmSync(partial, { force: true });
    }
  }
  return readFileSync(file, 'utf8').trim();
}
