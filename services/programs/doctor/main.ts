// npm run doctor: checks a deployment from its environment, and reports problems with remedies.
import { bad, type Check } from '../../platform/checks.ts';
import { runCommand } from '../../platform/process/command.ts';
import { oneLine } from '../../platform/thrown.ts';
import { checkDatabase } from './check-database.ts';
import { oidcChecks, tokensCheck } from './check-gateway.ts';
import { peerChecks } from './check-peers.ts';
import { portChecks } from './check-ports.ts';
import { checkRedis } from './check-redis.ts';
import { remindersChecks } from './check-reminders.ts';
import { tlsChecks } from './check-tls.ts';
import { type Named, runChecks, showFindings } from './finding.ts';
import { readSettings, type Settings } from './settings.ts';

const HELP = `Checks a deployment from its environment and changes nothing.

  npm run doctor [-- --json --start]

  --json   an array of {check, state, found, remedy} instead of a table
  --start  looks at what npm start runs with this environment, as it does without DATABASE_URL and the URLs of services

Checks: the variables, PostgreSQL (reachable, version, locale, settings, free connections, migrations), the pepper, Redis
(reachable, version, clock, eviction), the gRPC services, TLS certificates, the gateway's tokens and its OpenID provider, the mail
server, sender, links and push keys of reminders, this machine's ports.
States: ok, warning, bad. It shows no secret. docs/integrate.md has clients of the gRPC services in Python and Go.
Exits with 0, with 1 if anything is bad, and with 2 on an error.
`;

const options = { json: { type: 'boolean' }, start: { type: 'boolean' } } as const;

await runCommand({ name: 'npm run doctor', help: HELP, options, failureCode: 2 }, async ({ json, start }) => {
  const findings = await examine(start);
  process.stdout.write(json ? `${JSON.stringify(findings, null, 2)}\n` : showFindings(findings));
  return findings.some(({ state }) => state === 'bad') ? 1 : 0;
});

/** Runs all checks at once, and returns what they found in this order. */
async function examine(isStart: boolean | undefined): Promise<Named[]> {
  const { settings, findings } = readSettings(process.env, isStart);
  const checks: readonly Check<Settings>[] = [
    ...peerChecks(settings),
    ...tlsChecks(settings.rest.trust.tls, new Date()),
    tokensCheck,
    ...oidcChecks(settings),
    ...remindersChecks(settings),
    ...portChecks(settings),
  ];
  const found = await Promise.all([
    orBug('database', () => checkDatabase(settings)),
    orBug('redis', () => checkRedis(settings)),
    ...checks.map((check) => orBug(check.name, () => runChecks([check], settings))),
  ]);
  return [...findings, ...found.flat()];
}

/** After an unexpected error the other checks still report. */
async function orBug(check: string, run: () => Promise<Named[]>): Promise<Named[]> {
  try {
    return await run();
  } catch (error) {
    return [{ check, ...bad(`could not be checked: ${oneLine(error)}`, 'report this as a bug of doctor') }];
  }
}
