// What a caller hears of a replica that dies with its call: nothing of a read, UNAVAILABLE of a write.
import { EventEmitter, once } from 'node:events';
import { constants, createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type {
  SnoozeServiceDefinition,
  SnoozeServiceHandlers,
} from '../../../generated/scheduling/v1/SnoozeService.ts';
import { ServiceError } from '../../../services/platform/errors.ts';
import { clientsOf, type GrpcClient, serviceConfigOf } from '../../../services/platform/grpc/client.ts';
import { implement } from '../../../services/platform/grpc/handlers.ts';
import { startGrpcServer } from '../../../services/platform/grpc/server.ts';
import { createLogger } from '../../../services/platform/logging/logger.ts';
import { loadProto, serviceDefinition } from '../../../services/platform/protobuf/load.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';

beforeEach(prepareEach);
afterEach(cleanUp);

test('a read is answered by the other replica', async () => {
  expect(await killDuring(read)).not.toBeInstanceOf(Error);
  expect(called).toHaveLength(2);
  expect(new Set(called).size).toBe(2);
});

test('a write is not repeated', async () => {
  expect(await killDuring(write)).toMatchObject({ reason: 'UNAVAILABLE' });
  expect(called).toHaveLength(1);
});

test.each([
  ['UNAVAILABLE', new ServiceError('UNAVAILABLE')],
  ['INTERNAL_ERROR', new Error('a fault of the replica')],
])('a read that a replica itself answers with %s is not repeated', async (reason, fault) => {
  answer = () => Promise.reject(fault);
  await expect(read()).rejects.toMatchObject({ reason });
  expect(called).toHaveLength(1);
});

test('a call that is reset without a reason is UNAVAILABLE; a read is sent twice, a write once', async () => {
  let streams = 0;
  const server = createServer().on('stream', (stream) => {
    streams += 1;
    stream.on('error', () => {}).close(constants.NGHTTP2_INTERNAL_ERROR);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const options = { target: `127.0.0.1:${port}`, trust, caller: 'test', deadlineMs: 10_000 };
  const resetting = clientsOf('scheduling.v1', options)<SnoozeServiceDefinition>('SnoozeService');
  const unavailable = { reason: 'UNAVAILABLE', cause: { code: 13 } };
  try {
    await expect(resetting.listSnoozes({ userId: 'u' }, { requestId: 'test' })).rejects.toMatchObject(
      unavailable,
    );
    expect(streams).toBe(2);
    await expect(resetting.snoozeMaterials({ userId: 'u' }, { requestId: 'test' })).rejects.toMatchObject(
      unavailable,
    );
    expect(streams).toBe(3);
  } finally {
    resetting.close();
    server.close();
  }
});

test('every rpc is repeated but those with an effect, and streams', () => {
  const once = ['accounts.v1', 'scheduling.v1', 'reminders.v1'].flatMap((packageName) => {
    const own = loadProto(packageName);
    const services = Object.keys(own).filter((name) => name.endsWith('Service'));
    return services.flatMap((name) => {
      const methods = serviceDefinition(own, name);
      const { methodConfig } = JSON.parse(serviceConfigOf(methods));
      const repeated = methodConfig.flatMap((config: { name: { service: string; method: string }[] }) =>
        config.name.map(({ service, method }) => `${service}/${method}`),
      );
      return Object.keys(methods).filter((method) => !repeated.includes(`${name}/${method}`));
    });
  });
  expect(once.toSorted()).toEqual([
    'ArchiveMaterial',
    'CancelSnooze',
    'CreateApiKey',
    'CreateCalendarFeed',
    'CreateMaterial',
    'CreateReminder',
    'CreateUser',
    'DeleteCalendarFeed',
    'DeleteMaterial',
    'DeletePushSubscription',
    'DeleteReminder',
    'DeleteUser',
    'DeleteUserData',
    'DeleteUserData',
    'ExportUserData',
    'ExportUserData',
    'FollowTestClock',
    'ImportUserData',
    'RecordUserEvent',
    'RegisterPushSubscription',
    'ReportKeyRequests',
    'RestoreMaterial',
    'RevokeApiKey',
    'RotateApiKey',
    'SendTestReminder',
    'SetEmailEnabled',
    'SetTestClock',
    'SnoozeMaterials',
    'SpreadBacklog',
    'SubmitReview',
    'SwitchRefusedEmailOn',
    'UndoReview',
    'UpdateLearnerSettings',
    'UpdateMaterial',
    'UpdateReminder',
    'UpdateUser',
    'WatchRevocations',
  ]);
});

const trust = { serviceTokens: [], tls: undefined };

/** What a replica does with a call, and in what order replicas were called. */
let answer: (replica: number) => Promise<object>;
const called: number[] = [];
const calls = new EventEmitter();

let replicas: Awaited<ReturnType<typeof startReplica>>[];
/** In front of each: its connections break at once when it dies. */
let proxies: TcpProxy[];
let client: GrpcClient<SnoozeServiceDefinition>;

async function prepareEach(): Promise<void> {
  called.length = 0;
  replicas = [await startReplica(0), await startReplica(1)];
  proxies = await Promise.all(replicas.map(({ port }) => startTcpProxy(port)));
  const target = `ipv4:${proxies.map((proxy) => proxy.target).join(',')}`;
  const options = { target, trust, caller: 'test', deadlineMs: 10_000 };
  client = clientsOf('scheduling.v1', options)('SnoozeService');
  // Both are connected once both were called.
  answer = async () => ({});
  while (new Set(called).size < 2) await read();
  called.length = 0;
}

async function cleanUp(): Promise<void> {
  client.close();
  await Promise.all(proxies.map((proxy) => proxy.stop()));
  await Promise.all(replicas.map((replica) => replica.close(0)));
}

const read = () => client.listSnoozes({ userId: 'somebody' }, { requestId: 'test' });

const write = () => client.snoozeMaterials({ userId: 'somebody' }, { requestId: 'test' });

/** Sends a call, and kills the first replica that gets it. */
async function killDuring(send: () => Promise<unknown>): Promise<unknown> {
  let held: number | undefined;
  answer = (replica) => {
    held ??= replica;
    return replica === held ? new Promise(() => {}) : Promise.resolve({});
  };
  const outcome = send().catch((error: unknown) => error);
  const [first] = (await once(calls, 'call')) as [number];
  await proxies[first]?.stop();
  return outcome;
}

const startReplica = (replica: number) => {
  const handle = async () => {
    called.push(replica);
    calls.emit('call', replica);
    return answer(replica);
  };
  return startGrpcServer({
    domain: 'scheduling.v1',
    host: '127.0.0.1',
    port: 0,
    trust,
    logger: createLogger('test', 'silent'),
    services: [
      implement<SnoozeServiceHandlers>('SnoozeService', {
        SnoozeMaterials: handle,
        SpreadBacklog: async () => ({}),
        CancelSnooze: handle,
        ListSnoozes: handle,
      }),
    ],
  });
};
