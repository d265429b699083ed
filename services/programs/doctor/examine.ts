// All checks of npm run doctor.
import type { Check } from '../../platform/checks.ts';
import type { Environment } from '../../platform/process/config.ts';
import { checkDatabase } from './check-database.ts';
import { oidcChecks, tokensCheck } from './check-gateway.ts';
import { peerChecks } from './check-peers.ts';
import { portChecks } from './check-ports.ts';
import { checkRedis } from './check-redis.ts';
import { remindersChecks } from './check-reminders.ts';
import { tlsChecks } from './check-tls.ts';
import { type Named, runChecks } from './finding.ts';
import { readSettings, type Settings } from './settings.ts';

/** Runs all checks at once, and returns what they found in this order. `isStart`: as in `readSettings`. */
export async function examine(environment: Environment, isStart?: boolean): Promise<Named[]> {
  const { settings, findings } = readSettings(environment, isStart);
  const checks: readonly Check<Settings>[] = [
    ...peerChecks(settings),
    ...tlsChecks(settings.rest.trust.tls, new Date()),
    tokensCheck,
    ...oidcChecks(settings),
    ...remindersChecks(settings),
    ...portChecks(settings),
  ];
  const found = await Promise.all([
    checkDatabase(settings),
    checkRedis(settings),
    ...checks.map((check) => runChecks([check], settings)),
  ]);
  return [...findings, ...found.flat()];
}
