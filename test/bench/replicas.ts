// Measures one of each service against two of each, on this machine, behind one port that shares connections out.
import { writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { runCommand } from '../../services/platform/process/command.ts';
import { freePort } from '../../services/platform/process/ports.ts';
import { createNarrator } from '../../services/platform/process/terminal.ts';
import { type Bench, openBench } from './bench.ts';
import { openCore, SMALL } from './dataset/core.ts';
import { PEPPER } from './dataset/people.ts';
import { median } from './figure.ts';
import type { ReplicaCost } from './growth/figures.ts';
import { interleave, pick } from './measure.ts';
import { reviewRequests } from './rows/review.ts';
import { CONNECTIONS, dueRequests } from './rows/row.ts';
import { startNode, untilReady } from './systems/child.ts';
import { type System, WRITES_PER_MINUTE } from './systems/systems.ts';

const HELP = `Measures CPU per request and requests a second with one and with two of accounts, scheduling and rest.

  node test/bench/replicas.ts [--json FILE]

Linux only, needs redis-server; about two minutes.
`;

const options = { json: { type: 'string' } } as const;

await runCommand({ name: 'node test/bench/replicas.ts', help: HELP, options }, async (values) => {
  const narrator = createNarrator();
  const bench = await openBench({ quick: true, say: narrator.say, profileFolder: undefined });
  try {
    const json = `${JSON.stringify(await measure(bench), null, 2)}\n`;
    process.stdout.write(json);
    if (values.json !== undefined) writeFileSync(values.json, json);
  } finally {
    await bench.close();
    narrator.end();
  }
});

async function measure(bench: Bench) {
  const core = await openCore(bench.databases, SMALL);
  const databaseUrl = bench.databases.urlOf(await bench.databases.copyOf(core.name, 'replicas'));
  const systems: System[] = [];
  for (const count of [1, 2]) {
    const system = await startReplicas(count, { bench, databaseUrl, key: core.readers[0]?.key ?? '' });
    bench.atEnd(system.stop);
    systems.push(system);
  }
  const pace = { systems, rounds: 5, warmUpMs: 1500, label: 'replicas' };
  const run = (requests: readonly string[]) =>
    interleave(bench, { ...pace, plan: { connections: CONNECTIONS, requests, durationMs: 3000 } });
  const loads = { due: await run(dueRequests(core)), review: await run(reviewRequests(core)) };
  return Object.fromEntries(
    Object.entries(loads).map(([load, rounds]): [string, ReplicaCost[]] => [
      load,
      systems.map(({ name }) => ({
        replicas: name,
        cpuMs: median(pick(rounds, name, 'cpuMs')),
        perSecond: median(pick(rounds, name, 'perSecond')),
        p50Ms: median(pick(rounds, name, 'p50Ms')),
      })),
    ]),
  );
}

async function startReplicas(
  count: number,
  { bench, databaseUrl, key }: { bench: Bench; databaseUrl: string; key: string },
): Promise<System> {
  const ports = () => Promise.all(Array.from({ length: count }, freePort));
  const [rest, scheduling, accounts] = [await ports(), await ports(), await ports()];
  const target = (those: readonly number[]) => `ipv4:${those.map((port) => `127.0.0.1:${port}`).join(',')}`;
  const env = {
    ...{ LOG_LEVEL: 'warn', DATABASE_URL: databaseUrl, REDIS_URL: bench.redis.url, DOCS: 'off' },
    KEY_PEPPER: `${PEPPER.version}:${PEPPER.secret}`,
    WRITE_LIMIT_PER_MINUTE: `${WRITES_PER_MINUTE}`,
    ...{ SCHEDULING_URL: target(scheduling), ACCOUNTS_URL: target(accounts) },
  };
  const start = (name: string, variable: string, those: readonly number[]) =>
    those.map((port, index) =>
      startNode({
        name: `${name}-${index + 1}-of-${count}`,
        script: `services/${name}/main.ts`,
        env: { ...env, [variable]: `${port}` },
      }),
    );
  const children = [
    ...start('accounts', 'ACCOUNTS_PORT', accounts),
    ...start('scheduling', 'SCHEDULING_PORT', scheduling),
    ...start('rest', 'REST_PORT', rest),
  ];
  const answers = async (port: number) => {
    const headers = { authorization: `Bearer ${key}` };
    return (await fetch(`http://127.0.0.1:${port}/v1/reviews/due?limit=1`, { headers })).ok;
  };
  await untilReady(children, async () => (await Promise.all(rest.map(answers))).every(Boolean));
  const balancer = await startBalancer(rest);
  const stop = async () => {
    balancer.close();
    await Promise.all(children.map((child) => child.stop()));
  };
  return { name: `${count}`, port: balancer.port, databaseUrl, children, stop };
}

/** Each connection to the next of `ports`; what this costs is counted for nobody. */
async function startBalancer(ports: readonly number[]) {
  let next = 0;
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ port: ports[next++ % ports.length] ?? 0, host: '127.0.0.1', noDelay: true });
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    close: () => server.close(),
  };
}
