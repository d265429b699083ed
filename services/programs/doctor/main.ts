// npm run doctor: checks a deployment from its environment, and reports problems with remedies.
import { parseArgs } from 'node:util';
import { checkDatabase } from './check-database.ts';
import { checkPeers } from './check-peers.ts';
import { checkPorts } from './check-ports.ts';
import { checkRedis } from './check-redis.ts';
import { checkReminders } from './check-reminders.ts';
import { checkTls } from './check-tls.ts';
import { checkTokens } from './check-tokens.ts';
import { checkNamed, type Finding, oneLine, showFindings } from './finding.ts';
import { readSettings } from './settings.ts';

const HELP = `Checks a deployment from its environment and changes nothing.

  npm run doctor [-- --json] [-- --start]

  --json   an array of {check, state, found, remedy} instead of a table
  --start  looks at what npm start runs with this environment, as it does without DATABASE_URL

Checks: the variables, PostgreSQL (reachable, version, locale, free connections, migrations), the pepper,
Redis (reachable, version, clock, eviction), the gRPC services, TLS certificates, the gateway's tokens, the mail server, sender,
links and push keys of reminders, this machine's ports.
States: ok, warning, bad. Exits with 1 if anything is bad. It shows no secret.
`;

try {
  const flag = { type: 'boolean' } as const;
  const { values } = parseArgs({ options: { json: flag, start: flag, help: flag } });
  if (values.help) {
    process.stdout.write(HELP);
  } else {
    const findings = await examine(values.start);
    process.stdout.write(values.json ? `${JSON.stringify(findings, null, 2)}\n` : showFindings(findings));
    process.exitCode = findings.some(({ state }) => state === 'bad') ? 1 : 0;
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}

async function examine(isStart: boolean | undefined): Promise<Finding[]> {
  const { settings, findings } = readSettings(process.env, isStart);
  const [database, redis, peers, reminders, ports] = await Promise.all([
    finish('database', checkDatabase(settings)),
    finish('redis', checkRedis(settings.redisUrl)),
    finish('services', checkPeers(settings)),
    finish('reminders', checkReminders(settings)),
    finish('ports', checkPorts(settings)),
  ]);
  return [
    ...findings,
    ...database,
    ...redis,
    ...peers,
    ...checkTls(settings.trust.tls, new Date()),
    checkTokens(settings),
    ...reminders,
    ...ports,
  ];
}

/** A check that throws becomes a finding, so that the others still report. */
function finish(check: string, findings: Promise<Finding[]>): Promise<Finding[]> {
  return findings.catch((error: unknown) => [
    checkNamed(check).bad(`could not be checked: ${oneLine(error)}`, 'report this as a bug of doctor'),
  ]);
}
