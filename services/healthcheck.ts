// What a container's health check runs: exit 0 if the service named on the command line answers on this machine, else 1.
import { readCommonConfig } from './platform/common-config.ts';
import { readEnvironment } from './platform/config.ts';
import { createHealthClient } from './platform/grpc-health.ts';

const TIMEOUT_MS = 3000;

const { trust, ports } = readEnvironment(process.env, (reader) => ({
  trust: readCommonConfig(reader).trust,
  ports: {
    rest: reader.port('REST_PORT', 8080),
    gateway: reader.port('GRAPHQL_PORT', 4000),
    scheduling: reader.port('SCHEDULING_PORT', 50_051),
    accounts: reader.port('ACCOUNTS_PORT', 50_052),
  },
}));

const checks: Record<string, () => Promise<boolean>> = {
  rest: async () => {
    // Without a key: answered by the facade alone, whatever state the services behind it are in.
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    return (await fetch(`http://127.0.0.1:${ports.rest}/v1/me`, { signal })).status === 401;
  },
  gateway: async () => {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    return (await fetch(`http://127.0.0.1:${ports.gateway}/`, { signal })).ok;
  },
  scheduling: () => isServing(ports.scheduling),
  accounts: () => isServing(ports.accounts),
};

async function isServing(port: number): Promise<boolean> {
  const client = createHealthClient({ target: `127.0.0.1:${port}`, trust, deadlineMs: TIMEOUT_MS });
  return client.isServing().finally(() => client.close());
}

const check = checks[process.argv[2] ?? ''];
if (check === undefined) {
  process.stderr.write(`Usage: node services/healthcheck.ts ${Object.keys(checks).join('|')}\n`);
  process.exitCode = 2;
} else {
  process.exitCode = (await check().catch(() => false)) ? 0 : 1;
}
