// npm run doctor: checks a deployment from its environment, and reports problems with remedies.
import { runCommand } from '../../platform/process/command.ts';
import { examine } from './examine.ts';
import { showFindings } from './finding.ts';

const HELP = `Checks a deployment from its environment and changes nothing.

  npm run doctor [-- --json --start]

  --json   an array of {check, state, found, remedy} instead of a table
  --start  looks at what npm start runs with this environment, as it does without DATABASE_URL and the URLs of services

Checks: the variables, PostgreSQL (reachable, version, locale, settings, free connections, migrations), the pepper, Redis
(reachable, version, eviction), the gRPC services, TLS certificates, the gateway's tokens and its OpenID provider, the mail
server, sender, links and push keys of reminders, this machine's ports.
States: ok, warning, bad. It shows no secret. docs/integrate.md has clients of the gRPC services in Python and Go.
Exits with 0, with 1 if anything is bad, and with 2 on an error.
`;

const options = { json: { type: 'boolean' }, start: { type: 'boolean' } } as const;

await runCommand({ name: 'npm run doctor', help: HELP, options, failureCode: 2 }, async ({ json, start }) => {
  const findings = await examine(process.env, start);
  process.stdout.write(json ? `${JSON.stringify(findings, null, 2)}\n` : showFindings(findings));
  return findings.some(({ state }) => state === 'bad') ? 1 : 0;
});
