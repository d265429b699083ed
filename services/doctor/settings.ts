// What the environment says, read as the programs read it; where npm start keeps secrets of its own, those.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readGatewayTokens } from '../../gateway/access/tokens.ts';
import { readGatewayConfig } from '../../gateway/config.ts';
import { readPeppers } from '../accounts/config.ts';
import {
  ConfigError,
  type Environment,
  type EnvironmentReader,
  readEnvironment,
} from '../platform/config.ts';
import { readTelemetryConfig } from '../platform/ops/telemetry.ts';
import { readRestConfig } from '../rest/config.ts';
import { readSchedulingConfig } from '../scheduling/config.ts';
import { checkNamed, type Finding } from './finding.ts';

export type Settings = ReturnType<typeof readSettings>['settings'];

const { ok, bad } = checkNamed('configuration');

/** Every bad variable becomes a finding, and its default stands in, so that the other checks can go on. */
export function readSettings(environment: Environment) {
  const problems = new Set<string>();
  // Reading goes on after a bad variable; what is read then is thrown away with the error, so it is kept here.
  const read = <T>(variables: Environment, reading: (reader: EnvironmentReader) => T): T => {
    let result: T | undefined;
    try {
      return readEnvironment(variables, (reader) => {
        result = reading(reader);
        return result;
      });
    } catch (error) {
      if (!(error instanceof ConfigError) || result === undefined) throw error;
      for (const problem of error.problems) problems.add(problem);
      return result;
    }
  };
  const dataDir = environment.DATA_DIR || '.data';
  const databaseUrl = environment.DATABASE_URL || undefined;
  const pepper = environment.KEY_PEPPER || kept(dataDir, 'key-pepper');
  const keptToken = kept(dataDir, 'gateway-token');
  const tokens = environment.GATEWAY_TOKENS || (keptToken && `operator:operator:${keptToken}`);
  // In npm start HOST is REST's alone; the gRPC ends stay on loopback.
  const inner = databaseUrl === undefined ? { ...environment, HOST: '' } : environment;
  const rest = read(environment, readRestConfig);
  const gateway = read(
    { ...environment, GATEWAY_TOKENS: tokens ?? `x:viewer:${'x'.repeat(32)}` },
    readGatewayConfig,
  );
  const scheduling = read({ ...inner, DATABASE_URL: databaseUrl ?? 'embedded' }, readSchedulingConfig);
  const accountsPort = read(environment, (reader) => reader.port('ACCOUNTS_PORT', 50_052));
  const { ops } = read(environment, readTelemetryConfig);
  const gatewayState = read(environment, (reader) => reader.oneOf('GATEWAY', ['on', 'off'], 'on'));
  const settings = {
    dataDir,
    databaseUrl,
    peppers: pepper === undefined ? undefined : read({ KEY_PEPPER: pepper }, readPeppers),
    gatewayTokens: tokens === undefined ? undefined : read({ GATEWAY_TOKENS: tokens }, readGatewayTokens),
    redisUrl: rest.redisUrl,
    trust: rest.trust,
    host: rest.host,
    innerHost: scheduling.host,
    ports: { rest: rest.port, gateway: gateway.port, scheduling: scheduling.port, accounts: accountsPort },
    gatewayOn: gatewayState === 'on',
    ops,
    schedulingTarget: rest.schedulingTarget,
    accountsTarget: rest.accountsTarget,
    /** Whether somebody said where the services are: then they have to be there. */
    namesPeers: Boolean(environment.SCHEDULING_URL || environment.ACCOUNTS_URL || databaseUrl),
  };
  const mend =
    'set it right where this program gets its environment from; .env.example explains each variable';
  const findings: Finding[] = [...problems].map((problem) => bad(problem, mend));
  return {
    settings,
    findings: findings.length > 0 ? findings : [ok('every variable that is set can be read')],
  };
}

function kept(dataDir: string, name: string): string | undefined {
  const file = join(dataDir, name);
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
}
