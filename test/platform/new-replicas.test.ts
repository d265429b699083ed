// A connection that ends of age costs no call; through it, clients that already run find a replica that comes under a name.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type {
  SnoozeServiceDefinition,
  SnoozeServiceHandlers,
} from '../../generated/scheduling/v1/SnoozeService.ts';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { startDnsServer } from '../support/dns-server.ts';

// The library asks the system's resolver unless told before it is loaded; only its own one can be sent to another server.
process.env.GRPC_NODE_USE_ALTERNATIVE_RESOLVER = 'true';

beforeAll(startAll);
afterAll(() => dns.stop());

// Other systems have one loopback address unless told otherwise.
test.runIf(process.platform === 'linux')(
  'a client that runs finds the second address of a name when its connection ends of age, and no call fails',
  async () => {
    const first = await startReplica('127.0.0.1', 0);
    const second = await startReplica('127.0.0.2', first.port);
    const target = `dns://127.0.0.1:${dns.port}/replicas.test:${first.port}`;
    const options = { target, trust, caller: 'test', deadlineMs: 2000 };
    const client = clientsOf('scheduling.v1', options)<SnoozeServiceDefinition>('SnoozeService');
    const ask = () => client.listSnoozes({ userId: 'somebody' }, { requestId: 'test' });
    try {
      for (let count = 0; count < 10; count += 1) await ask();
      expect(calls).toEqual({ '127.0.0.1': 10 });
      dns.setAddresses(['127.0.0.1', '127.0.0.2']);
      // A call that fails fails the test: nothing is caught here.
      while (calls['127.0.0.2'] === undefined) {
        await ask();
        await sleep(20);
      }
      const before = { ...calls };
      for (let count = 0; count < 20; count += 1) await ask();
      for (const host of ['127.0.0.1', '127.0.0.2'])
        expect((calls[host] ?? 0) - (before[host] ?? 0)).toBeGreaterThanOrEqual(5);
      expect(dns.lookups()).toBeGreaterThanOrEqual(2);
    } finally {
      client.close();
      await first.close(1000);
      await second.close(1000);
    }
  },
);

test('no call is cut when its connection reaches the age of 30 s', async () => {
  const replica = await startReplica('127.0.0.1', 0, { answersAfterMs: 1_000, maxConnectionAgeMs: 30_000 });
  const callInTurn = async (index: number) => {
    const client = clientsOf('scheduling.v1', {
      target: `127.0.0.1:${replica.port}`,
      trust,
      caller: 'test',
      deadlineMs: 60_000,
      // Clients with the same options would share a connection.
      maxMessageBytes: 1_000_000 + index,
    })<SnoozeServiceDefinition>('SnoozeService');
    // A write, which is never sent again.
    const write = () => client.cancelSnooze({ userId: 'somebody' }, { requestId: 'test' });
    const connected = performance.now();
    await write();
    await sleep(25_500);
    while (performance.now() < connected + 33_500) await write();
    client.close();
  };
  const clients = await Promise.allSettled(Array.from({ length: 40 }, (_, index) => callInTurn(index)));
  expect(clients.filter(({ status }) => status === 'rejected')).toEqual([]);
  await replica.close(1000);
});

describe('a client of a name', () => {
  let replica: Awaited<ReturnType<typeof startReplica>>;
  const closers: (() => unknown)[] = [];
  beforeAll(async () => {
    replica = await startReplica('127.0.0.1', 0);
  });
  afterEach(async () => {
    for (const close of closers.splice(0)) await close();
  });
  afterAll(() => replica.close(1000));

  const named = async (port = replica.port) => {
    const own = await startDnsServer(['127.0.0.1']);
    closers.push(own.stop);
    return { own, target: `dns://127.0.0.1:${own.port}/replicas.test:${port}` };
  };
  const clientOf = (target: string, options = {}) => {
    const client = new Client(target, credentials.createInsecure(), options);
    closers.push(() => client.close());
    const { path, requestSerialize, responseDeserialize } = definition.ListSnoozes;
    const request = { userId: 'somebody' };
    const code = () =>
      new Promise<number>((resolve) => {
        const deadline = Date.now() + 10_000;
        client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, { deadline }, (error) =>
          resolve(error === null ? status.OK : error.code),
        );
      });
    return {
      code,
      state: () => client.getChannel().getConnectivityState(false),
      close: () => client.close(),
    };
  };

  test.each([
    ['a name', async () => (await named()).target],
    ['an address', async () => `dns:127.0.0.1:${replica.port}`],
  ])(
    'is answered through %s after a time without calls, for which it has let its connections go',
    async (_what, targetOf) => {
      const client = clientOf(await targetOf(), { 'grpc.client_idle_timeout_ms': 1000 });
      expect(await client.code()).toBe(status.OK);
      await expect.poll(client.state).toBe(connectivityState.IDLE);
      expect(await client.code()).toBe(status.OK);
    },
  );

  test('hears at once that a name has no address, and is answered once it has one', async () => {
    const { own, target } = await named();
    own.setAddresses([]);
    const client = clientOf(target);
    expect(await client.code()).toBe(status.UNAVAILABLE);
    own.setAddresses(['127.0.0.1']);
    await expect.poll(client.code).toBe(status.OK);
  });
});

const { Client, connectivityState, credentials, status } = await import('@grpc/grpc-js');
const { clientsOf } = await import('../../services/platform/grpc/client.ts');
const { implement } = await import('../../services/platform/grpc/handlers.ts');
const { startGrpcServer } = await import('../../services/platform/grpc/server.ts');
const { loadProto, serviceDefinition } = await import('../../services/platform/protobuf/load.ts');

const trust = { serviceTokens: [], tls: undefined };
const proto = loadProto('scheduling.v1');
const definition = serviceDefinition<SnoozeServiceDefinition>(proto, 'scheduling.v1.SnoozeService');
const calls: Record<string, number> = {};
/** In place of 30 s. */
const MAX_AGE_MS = 1500;

let dns: Awaited<ReturnType<typeof startDnsServer>>;

async function startAll(): Promise<void> {
  dns = await startDnsServer(['127.0.0.1']);
}

/** The same port on another loopback address, as replicas behind one name have. */
const startReplica = (
  host: string,
  port: number,
  { answersAfterMs = 0, maxConnectionAgeMs = MAX_AGE_MS } = {},
) =>
  startGrpcServer({
    domain: 'scheduling.v1',
    host,
    port,
    trust,
    maxConnectionAgeMs,
    logger: createLogger('test', 'silent'),
    services: [
      implement<SnoozeServiceHandlers>('SnoozeService', {
        SnoozeMaterials: async () => ({}),
        SpreadBacklog: async () => ({}),
        async CancelSnooze() {
          await sleep(answersAfterMs);
          return {};
        },
        async ListSnoozes() {
          calls[host] = (calls[host] ?? 0) + 1;
          return {};
        },
      }),
    ],
  });
