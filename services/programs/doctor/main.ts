// npm run doctor: checks a deployment from its environment, and reports problems with remedies.
import { runCommand } from '../../platform/process/command.ts';
import { oneLine } from '../../platform/thrown.ts';
import { checkDatabase } from './check-database.ts';
import { checkOidc, checkTokens } from './check-gateway.ts';
import { checkPeers } from './check-peers.ts';
import { checkPorts } from './check-ports.ts';
import { checkRedis } from './check-redis.ts';
import { checkReminders } from './check-reminders.ts';
import { checkTls } from './check-tls.ts';
import { checkNamed, type Finding, showFindings } from './finding.ts';
import { readSettings, type Settings } from './settings.ts';

/** In the order of the output; those of the database are the ones of a service's start and of GET /ready, and more. */
const CHECKS: { name: string; run(settings: Settings): Finding[] | Promise<Finding[]> }[] = [
  { name: 'database', run: checkDatabase },
  { name: 'redis', run: checkRedis },
  { name: 'services', run: checkPeers },
  { name: 'tls', run: ({ trust }) => checkTls(trust.tls, new Date()) },
  { name: 'gateway tokens', run: checkTokens },
  { name: 'openid provider', run: checkOidc },
  { name: 'reminders', run: checkReminders },
  { name: 'ports', run: checkPorts },
];

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

async function examine(isStart: boolean | undefined): Promise<Finding[]> {
  const { settings, findings } = readSettings(process.env, isStart);
  const found = await Promise.all(
    CHECKS.map(async ({ name, run }) => {
      try {
        return await run(settings);
      } catch (error) {
        // The others still report.
        return [
          checkNamed(name).bad(`could not be checked: ${oneLine(error)}`, 'report this as a bug of doctor'),
        ];
      }
    }),
  );
  return [...findings, ...found.flat()];
}
