// Reads the environment as the programs do, with the stored secrets of npm start.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readGatewayTokens } from '../../../gateway/access/tokens.ts';
import { readGatewayConfig } from '../../../gateway/config.ts';
import { readPeppers } from '../../accounts/config.ts';
import { readTelemetryConfig } from '../../platform/observability/telemetry.ts';
import {
  type Environment,
  type EnvironmentReader,
  readCollecting,
  readSecretFiles,
} from '../../platform/process/config.ts';
import { readRemindersConfig } from '../../reminders/config.ts';
import { readRestConfig } from '../../rest/config.ts';
import { readSchedulingConfig } from '../../scheduling/config.ts';
import { dataDirOf } from '../program-database.ts';
import {
  DATABASE_URL_STAND_IN,
  GATEWAY_TOKENS_STAND_IN,
  operatorEntry,
  withInnerHost,
} from '../start/settings.ts';
import { checkNamed, type Finding } from './finding.ts';

export type Settings = ReturnType<typeof readSettings>['settings'];

const { ok, bad } = checkNamed('configuration');

/** Whoever sets one of these runs the reminders service. */
const OF_REMINDERS = ['SMTP_URL', 'MAIL_DIR', 'MAIL_FROM', 'PUBLIC_URL', 'APP_URL', 'VAPID_KEYS'];

/**
 * Every invalid variable becomes a finding and gets its default, so that the other checks can run. `isStart`: the environment of
 * npm start, assumed if it names neither a database nor the services.
 */
export function readSettings(given: Environment, isStartGiven?: boolean) {
  const { environment, problems: ofFiles } = readSecretFiles(given);
  const namesServices = Boolean(environment.SCHEDULING_URL || environment.ACCOUNTS_URL);
  const isStart = isStartGiven ?? !(environment.DATABASE_URL || namesServices);
  const problems = new Set(ofFiles);
  const read = <T>(variables: Environment, reading: (reader: EnvironmentReader) => T) =>
    readCollecting(problems, variables, reading);
  const dataDir = dataDirOf(environment);
  const databaseUrl = environment.DATABASE_URL || undefined;
  const pepper = environment.KEY_PEPPER || kept(dataDir, 'key-pepper');
  const keptToken = kept(dataDir, 'gateway-token');
  const tokens = environment.GATEWAY_TOKENS || (keptToken && operatorEntry(keptToken));
  // Without a database of its own, a program serves no gRPC beyond loopback.
  const inner = isStart || databaseUrl === undefined ? withInnerHost(environment) : environment;
  const rest = read(environment, readRestConfig);
  const gateway = read(
    { ...environment, GATEWAY_TOKENS: tokens ?? GATEWAY_TOKENS_STAND_IN },
    readGatewayConfig,
  );
  const scheduling = read(
    { ...inner, DATABASE_URL: databaseUrl ?? DATABASE_URL_STAND_IN },
    readSchedulingConfig,
  );
  const accountsPort = read(environment, (reader) => reader.wholeNumber('ACCOUNTS_PORT'));
  const { ops } = read(environment, readTelemetryConfig);
  const gatewayOn = read(environment, (reader) => reader.isOn('GATEWAY'));
  const remindersOn = read(environment, (reader) => reader.isOn('REMINDERS'));
  const isAboutReminders = isStart || OF_REMINDERS.some((name) => environment[name]);
  const vapidKeys = environment.VAPID_KEYS || (isStart ? kept(dataDir, 'vapid-keys') : undefined);
  const forReminders = {
    ...inner,
    DATABASE_URL: databaseUrl ?? DATABASE_URL_STAND_IN,
    MAIL_DIR: environment.MAIL_DIR || (isStart ? join(dataDir, 'mail') : undefined),
    VAPID_KEYS: vapidKeys,
  };
  const settings = {
    dataDir,
    databaseUrl: databaseUrl && scheduling.databaseUrl,
    databaseSessionUrl: scheduling.databaseSessionUrl,
    peppers: pepper === undefined ? undefined : read({ KEY_PEPPER: pepper }, readPeppers),
    gatewayTokens: tokens === undefined ? undefined : read({ GATEWAY_TOKENS: tokens }, readGatewayTokens),
    oidc: gateway.oidc,
    redisUrl: rest.redisUrl,
    trust: rest.trust,
    host: rest.host,
    innerHost: scheduling.host,
    ports: { rest: rest.port, gateway: gateway.port, scheduling: scheduling.port, accounts: accountsPort },
    gatewayOn,
    /** undefined: REMINDERS=off, or the environment of a program that does not need them. */
    reminders: remindersOn && isAboutReminders ? read(forReminders, readRemindersConfig) : undefined,
    vapidKeysGiven: vapidKeys !== undefined,
    isStart,
    ops,
    schedulingTarget: rest.schedulingTarget,
    accountsTarget: rest.accountsTarget,
    /** undefined: the environment does not say that a gateway asks reminders. */
    remindersTarget: environment.REMINDERS_URL ? gateway.remindersTarget : undefined,
    /** Whether the services' addresses are configured; then they must be reachable. */
    namesPeers: namesServices || !isStart,
  };
  const remedy = 'correct it where this program gets its environment; .env.example explains each variable';
  const findings: Finding[] = [...problems].map((problem) => bad(problem, remedy));
  return {
    settings,
    findings: findings.length > 0 ? findings : [ok('every variable that is set is valid')],
  };
}

function kept(dataDir: string, name: string): string | undefined {
  const file = join(dataDir, name);
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
}
