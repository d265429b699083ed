// Container health check: exits with 0 if the service named on the command line responds on this machine, else with 1.

import { createHealthClient } from '../platform/grpc/health.ts';
import { readCommonConfig } from '../platform/process/common-config.ts';
import { readEnvironment } from '../platform/process/config.ts';

const TIMEOUT_MS = 3000;

const { trust, ports } = readEnvironment(process.env, (reader) => ({
  trust: readCommonConfig(reader).trust,
  ports: {
    rest: reader.port('REST_PORT', 8080),
    gateway: reader.port('GRAPHQL_PORT', 4000),
    scheduling: reader.port('SCHEDULING_PORT', 50_051),
    accounts: reader.port('ACCOUNTS_PORT', 50_052),
    reminders: reader.port('REMINDERS_PORT', 50_053),
  },
}));

const checks: Record<string, () => Promise<boolean>> = {
  rest: () => answers(ports.rest),
  gateway: () => answers(ports.gateway),
  scheduling: () => isServing(ports.scheduling),
  accounts: () => isServing(ports.accounts),
  reminders: () => isServing(ports.reminders),
};

/** Whether a facade is alive. 503 counts as alive, since a restart under load shedding would make it worse; 500 does not. */
async function answers(port: number): Promise<boolean> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const { status } = await fetch(`http://127.0.0.1:${port}/`, { signal });
  return status < 500 || status === 503;
}

async function isServing(port: number): Promise<boolean> {
  const client = createHealthClient({ target: `127.0.0.1:${port}`, trust, deadlineMs: TIMEOUT_MS });
  return client.isServing().finally(() => client.close());
}

const check = checks[process.argv[2] ?? ''];
if (check === undefined) {
  process.stderr.write(`Usage: node services/programs/healthcheck.ts ${Object.keys(checks).join('|')}\n`);
  process.exitCode = 2;
} else {
  process.exitCode = (await check().catch(() => false)) ? 0 : 1;
}
