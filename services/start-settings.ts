// The environment of npm start: every variable of every part, all bad ones reported together.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { readGatewayConfig } from '../gateway/config.ts';
import { readAccountsConfig } from './accounts/config.ts';
import { keepSecret } from './kept-secret.ts';
import { ConfigError, type Environment, type EnvironmentReader, readEnvironment } from './platform/config.ts';
import { readTelemetryConfig } from './platform/ops/telemetry.ts';
import { readRestConfig } from './rest/config.ts';
import { readSchedulingConfig } from './scheduling/config.ts';

export type StartSettings = ReturnType<typeof readStartSettings>;
/** Those that npm start makes where the environment gives none. */
export type Secrets = { pepper: string; gatewayToken: string };

/** Of the right form: all else can be checked before a secret is made. */
const STAND_INS: Secrets = { pepper: `1:${'x'.repeat(32)}`, gatewayToken: 'x'.repeat(32) };

/**
 * `kept` counts where the environment gives no secrets. HOST moves REST and the gateway only: gRPC stays on loopback.
 * @throws ConfigError naming every bad variable.
 */
export function readStartSettings(environment: Environment, kept: Secrets = STAND_INS) {
  const problems = new Set<string>();
  const read = <T>(variables: Environment, reading: (reader: EnvironmentReader) => T): T | undefined => {
    try {
      return readEnvironment(variables, reading);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      for (const problem of error.problems) problems.add(problem);
      return undefined;
    }
  };
  const inner = {
    ...environment,
    HOST: '127.0.0.1',
    DATABASE_URL: environment.DATABASE_URL || 'embedded',
    KEY_PEPPER: environment.KEY_PEPPER || kept.pepper,
  };
  const tokens = environment.GATEWAY_TOKENS || `operator:operator:${kept.gatewayToken}`;
  const rest = read(environment, readRestConfig);
  const accounts = read(inner, readAccountsConfig);
  const scheduling = read(inner, readSchedulingConfig);
  const isOff = read(environment, (reader) => reader.oneOf('GATEWAY', ['on', 'off'], 'on')) === 'off';
  const gateway = isOff ? undefined : read({ ...environment, GATEWAY_TOKENS: tokens }, readGatewayConfig);
  const watching = read(environment, readTelemetryConfig);
  if (problems.size > 0 || !rest || !accounts || !scheduling || !watching) {
    throw new ConfigError([...problems]);
  }
  const dataDir = environment.DATA_DIR || '.data';
  return {
    dataDir,
    /** undefined: the embedded PostgreSQL of `dataDir`. */
    databaseUrl: environment.DATABASE_URL || undefined,
    rest,
    accounts,
    scheduling,
    /** undefined: GATEWAY=off. */
    gateway,
    /** Where the gateway's token is kept; undefined where it is given. */
    gatewayTokenFile: environment.GATEWAY_TOKENS ? undefined : join(dataDir, 'gateway-token'),
    watching,
  };
}

/** Those of before, or new ones; only for what the environment does not give. */
export function keepSecrets(environment: Environment, settings: StartSettings): Secrets {
  const { dataDir, gateway, gatewayTokenFile } = settings;
  const random = () => randomBytes(32).toString('hex');
  const needsToken = gateway !== undefined && gatewayTokenFile !== undefined;
  return {
    // Without the one of before, no key of this data directory would be valid any more.
    pepper: environment.KEY_PEPPER || keepSecret(join(dataDir, 'key-pepper'), () => `1:${random()}`),
    gatewayToken: needsToken ? keepSecret(gatewayTokenFile, random) : STAND_INS.gatewayToken,
  };
}
