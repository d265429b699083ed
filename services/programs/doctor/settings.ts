// The environment as the programs read it; that of npm start with its stored secrets.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bad, type Finding, ok, warning } from '../../platform/checks.ts';
import { type Environment, readSecretFiles } from '../../platform/process/config.ts';
import { errorCode } from '../../platform/thrown.ts';
import { dataDirOf } from '../program-database.ts';
import { readParts, STAND_INS } from '../start/settings.ts';
import type { Named } from './finding.ts';

export type Settings = ReturnType<typeof readSettings>['settings'];

/**
 * Every invalid variable becomes a finding and gets its default, so that the other checks can run. `isStart`: the environment of
 * npm start, assumed if it names neither a database nor the services.
 */
export function readSettings(given: Environment, isStartGiven?: boolean) {
  const { environment } = readSecretFiles(given);
  const namesServices = Boolean(environment.SCHEDULING_URL || environment.ACCOUNTS_URL);
  const isStart = isStartGiven ?? !(environment.DATABASE_URL || namesServices);
  const unreadable: Finding[] = [];
  /** What npm start has stored for a variable that is not set. */
  const kept = (variable: string, name: string) =>
    isStart && !environment[variable] ? readKept(join(dataDirOf(environment), name), unreadable) : undefined;
  const vapidKeys = kept('VAPID_KEYS', 'vapid-keys');
  const pepper = kept('KEY_PEPPER', 'key-pepper');
  const gatewayToken = kept('GATEWAY_TOKENS', 'gateway-token');
  const { settings: parts, problems } = readParts(
    given,
    {
      pepper: pepper ?? STAND_INS.pepper,
      gatewayToken: gatewayToken ?? STAND_INS.gatewayToken,
      vapidKeys,
    },
    isStart,
  );
  const settings = {
    ...parts,
    /** undefined: neither set nor stored. */
    peppers: environment.KEY_PEPPER || pepper ? parts.accounts.peppers : undefined,
    /** undefined: neither set nor stored. */
    gatewayTokens: environment.GATEWAY_TOKENS || gatewayToken ? parts.gateway?.tokens : undefined,
    isPushGiven: Boolean(environment.VAPID_KEYS || vapidKeys),
    isStart,
    /** undefined: the environment does not say that a gateway asks reminders. */
    remindersTarget: environment.REMINDERS_URL ? parts.gateway?.remindersTarget : undefined,
    /** Whether the services' addresses are configured; then they must be reachable. */
    namesPeers: namesServices || !isStart,
  };
  const remedy = 'correct it where this program gets its environment; .env.example explains each variable';
  const found = [...problems].map((problem) => bad(problem, remedy));
  const variables = found.length > 0 ? found : [ok('every variable that is set is valid')];
  const findings: Named[] = [...variables, ...unreadable].map((finding) => ({
    check: 'configuration',
    ...finding,
  }));
  return { settings, findings };
}

/** undefined if there is no such file, or it cannot be read, which is added to `unreadable`. */
function readKept(file: string, unreadable: Finding[]): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    const code = errorCode(error);
    if (code !== 'ENOENT' && code !== 'ENOTDIR')
      unreadable.push(
        warning(`${file} cannot be read (${code})`, 'run npm run doctor as the user who runs npm start'),
      );
    return undefined;
  }
}
