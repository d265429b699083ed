// The system with one hostile user who owns the worst that is legal, ten ordinary users at work, and what it costs them.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../../services/platform/process/ports.ts';
import { createAccountsClients } from '../../../services/programs/keys/clients.ts';
import { createStartPlace } from '../../support/npm-start.ts';
import type { Environment } from '../../support/processes.ts';
import { newSecret, startService } from '../../support/services.ts';
import { percentile } from '../../support/statistics.ts';
import type { Attack, Facts } from './attack.ts';
import type { AttackOrder } from './attacker.ts';
import { createKeyWith, startDeployment } from './deployment.ts';
import { startLoad, type Use } from './load.ts';
import { startProxy } from './proxy.ts';
import { createHostileData, createOrdinaryData, createTestData } from './test-data.ts';

const ORDINARY_KEYS = 10;
const CONNECTIONS = 32;

/** What the neighbours had in a while. `gatewayMs`: the median of another caller of the gateway. */
export type Experience = { failures: string[]; p99Ms: number; requests: number; gatewayMs: number };
export type Neighbourhood = Awaited<ReturnType<typeof startNeighbourhood>>;

/** Services behind HAProxy, as they are deployed, or all of it in one process without a proxy. */
export type Form = 'behind HAProxy' | 'npm start';

export async function startNeighbourhood(form: Form) {
  const [viewerToken, operatorToken, neighbourToken] = [newSecret(), newSecret(), newSecret()];
  const environment = {
    WRITE_LIMIT_PER_MINUTE: '600',
    GATEWAY_TOKENS: `vic:viewer:${viewerToken},olga:operator:${operatorToken},ann:viewer:${neighbourToken}`,
  };
  const here = await (form === 'npm start' ? startAlone(environment) : startBehindProxy(environment));
  const hostile = await here.createKey();
  const data = createTestData(here.schedulingTarget);
  const smallMaterialId = await createHostileData(data, hostile.userId);
  const uses: Use[][] = [];
  for (let index = 0; index < ORDINARY_KEYS; index += 1) {
    const { key, userId } = await here.createKey();
    uses.push(ordinaryUses(key, await createOrdinaryData(data, userId)));
  }
  data.close();
  const facts: Facts = {
    ports: here.ports,
    key: hostile.key,
    userId: hostile.userId,
    smallMaterialId,
    viewerToken,
    operatorToken,
  };
  const attacker = fork(join(import.meta.dirname, 'attacker.ts'), { stdio: 'inherit' });
  const tell = async (order: AttackOrder) => {
    const heard = once(attacker, 'message');
    attacker.send(order);
    await heard;
  };
  const { processes } = here;
  return {
    /** What the ordinary users have for `ms`. */
    async experience(ms: number): Promise<Experience> {
      const latencies: number[] = [];
      let turn = 0;
      const load = startLoad({
        origins: [`http://127.0.0.1:${here.ports.rest}`],
        workers: ORDINARY_KEYS,
        // Together about 130 requests a second: they share an address, and HAProxy allows it 200.
        pauseMs: 75,
        next: () => {
          turn += 1;
          const own = uses[turn % ORDINARY_KEYS] ?? [];
          return own[Math.floor(turn / ORDINARY_KEYS) % own.length] as Use;
        },
        onOutcome: (outcome) => latencies.push(outcome.ms),
      });
      const gateway = await askGateway(`http://127.0.0.1:${here.ports.gateway}`, neighbourToken, ms);
      return {
        failures: [...(await load.stop()), ...gateway.failures],
        p99Ms: percentile(latencies, 0.99),
        requests: latencies.length,
        gatewayMs: percentile(gateway.latencies, 0.5),
      };
    },
    begin: (attack: Attack) => tell({ attack, facts, connections: CONNECTIONS }),
    end: () => tell('stop'),
    /** Begins to watch the memory of the services; called again, how much the one that grew most has grown, in MiB. */
    watchMemory() {
      const before = processes.map((service) => ({ service, mib: memoryMiB(service.pid()) }));
      let most = { name: '', mib: 0 };
      const look = () => {
        for (const { service, mib } of before) {
          const grown = memoryMiB(service.pid()) - mib;
          if (grown > most.mib) most = { name: service.name, mib: grown };
        }
      };
      const timer = setInterval(look, 50);
      return () => {
        clearInterval(timer);
        look();
        return most;
      };
    },
    async stop() {
      attacker.disconnect();
      await here.stop();
    },
  };
}

async function startBehindProxy(environment: Environment) {
  const opsPort = await freePort();
  const here = await startDeployment({ replicas: { accounts: 1, scheduling: 1, rest: 0 }, environment });
  const targets = { ACCOUNTS_URL: here.accountsTarget, SCHEDULING_URL: here.schedulingTarget };
  const rest = await startService('rest', { ...targets, ...environment, OPS_PORT: `${opsPort}` });
  const gateway = await startService('gateway', { ...targets, ...environment });
  const proxy = await startProxy({ rest: rest.port, gateway: gateway.port, opsPort });
  return {
    schedulingTarget: here.schedulingTarget,
    createKey: here.createKey,
    ports: {
      rest: proxy.ports.rest,
      gateway: proxy.ports.gateway,
      ops: opsPort,
      scheduling: here.scheduling[0]?.port ?? 0,
      accounts: here.accounts[0]?.port ?? 0,
    },
    processes: [...here.accounts, ...here.scheduling, rest, gateway],
    async stop() {
      await proxy.stop();
      await Promise.all([rest, gateway].map((service) => service.kill()));
      await here.stop();
    },
  };
}

async function startAlone(environment: Environment) {
  const place = createStartPlace();
  const ports = {
    rest: await freePort(),
    gateway: await freePort(),
    ops: await freePort(),
    scheduling: await freePort(),
    accounts: await freePort(),
  };
  await place.start({
    ...environment,
    KEY_CREATION_LIMIT_PER_HOUR: '1000000',
    REST_PORT: `${ports.rest}`,
    GRAPHQL_PORT: `${ports.gateway}`,
    OPS_PORT: `${ports.ops}`,
    SCHEDULING_PORT: `${ports.scheduling}`,
    ACCOUNTS_PORT: `${ports.accounts}`,
  });
  const target = `127.0.0.1:${ports.accounts}`;
  const clients = createAccountsClients({ target, trust: { serviceTokens: [], tls: undefined } });
  return {
    schedulingTarget: `127.0.0.1:${ports.scheduling}`,
    createKey: () => createKeyWith(clients),
    ports,
    // The process is npm's child, and its memory is not watched.
    processes: [],
    async stop() {
      clients.close();
      await place.clear();
    },
  };
}

/** What a caller of the gateway has for `forMs`, one request after the other. */
async function askGateway(origin: string, token: string, forMs: number) {
  const [latencies, failures]: [number[], string[]] = [[], []];
  const endMs = performance.now() + forMs;
  while (performance.now() < endMs) {
    const begunMs = performance.now();
    const said = await fetch(`${origin}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ query: '{ users(first: 5) { nodes { id email } } }' }),
    }).then(
      async (response) => `${response.status} ${await response.text()}`,
      (error: unknown) => `0 ${String(error)}`,
    );
    latencies.push(performance.now() - begunMs);
    if (!/^200 \{"data":\{"users"/.test(said)) failures.push(`gateway: ${said.slice(0, 200)}`);
    await sleep(50);
  }
  return { latencies, failures };
}

/** One in eight is a write, so that each key stays within its limit. */
function ordinaryUses(key: string, materialIds: readonly string[]): Use[] {
  const get = (path: string): Use => ({ method: 'GET', path, key });
  const post = (path: string, json: object): Use => ({ method: 'POST', path, key, json });
  return materialIds.flatMap((materialId, index) => [
    get('/reviews/due'),
    get('/materials'),
    get('/search?q=ordinary'),
    get('/me'),
    get('/reviews/due?limit=5'),
    get('/materials?limit=50'),
    get('/search?q=o'),
    index % 4 === 0
      ? post('/materials', { title: 'An ordinary note', content: 'Written meanwhile.' })
      : index % 4 === 1
        ? post(`/materials/${materialId}/snooze`, { preset: '1h' })
        : post(`/reviews/${materialId}`, { quality: 4 }),
  ]);
}

/** What is the process's own, in MiB. */
function memoryMiB(pid: number): number {
  const [, kilobytes] = /^RssAnon:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes ?? 0) / 1024;
}
