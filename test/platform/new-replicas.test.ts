// A replica that comes under a name is found by clients that already run, without a break and without a failed call.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type {
  SnoozeServiceDefinition,
  SnoozeServiceHandlers,
} from '../../generated/scheduling/v1/SnoozeService.ts';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { startDnsServer } from '../support/dns-server.ts';

// The library asks the system's resolver unless told before it is loaded; only its own one can be sent to another server.
process.env.GRPC_NODE_USE_ALTERNATIVE_RESOLVER = 'true';
const { createGrpcClient } = await import('../../services/platform/grpc/client.ts');
const { implement } = await import('../../services/platform/grpc/handlers.ts');
const { startGrpcServer } = await import('../../services/platform/grpc/server.ts');
const { loadProto, serviceDefinition } = await import('../../services/platform/protobuf/load.ts');

const trust = { serviceTokens: [], tls: undefined };
const proto = loadProto('scheduling/v1');
const definition = serviceDefinition<SnoozeServiceDefinition>(proto, 'scheduling.v1.SnoozeService');
const calls: Record<string, number> = {};

/** The same port on another loopback address, as replicas behind one name have. */
const startReplica = (host: string, port: number) =>
  startGrpcServer({
    ...{ domain: 'scheduling.v1', host, port, trust },
    logger: createLogger('test', 'silent'),
    services: [
      implement<SnoozeServiceHandlers>(definition, {
        SnoozeMaterials: async () => ({}),
        CancelSnooze: async () => ({}),
        async ListSnoozes() {
          calls[host] = (calls[host] ?? 0) + 1;
          return {};
        },
      }),
    ],
  });

let dns: Awaited<ReturnType<typeof startDnsServer>>;
beforeAll(async () => {
  dns = await startDnsServer(['127.0.0.1']);
});
afterAll(() => dns.stop());

// Other systems have one loopback address unless told otherwise.
test.runIf(process.platform === 'linux')(
  'a client that runs finds the second address of a name by itself, and no call fails',
  async () => {
    const first = await startReplica('127.0.0.1', 0);
    const second = await startReplica('127.0.0.2', first.port);
    const target = `dns://127.0.0.1:${dns.port}/replicas.test:${first.port}`;
    const client = createGrpcClient(definition, { target, trust, caller: 'test', deadlineMs: 2000 });
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
