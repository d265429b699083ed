// What becomes of a call whose handler fails, over real gRPC.
import { getEventListeners, once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type {
  UserDataServiceDefinition,
  UserDataServiceHandlers,
} from '../../generated/scheduling/v1/UserDataService.ts';
import { invalidField, ServiceError } from '../../services/platform/errors.ts';
import { clientsOf, type GrpcClient } from '../../services/platform/grpc/client.ts';
import type { CallContext } from '../../services/platform/grpc/handlers.ts';
import { implement } from '../../services/platform/grpc/handlers.ts';
import { type GrpcServer, startGrpcServer } from '../../services/platform/grpc/server.ts';
import { recordSpans } from '../support/spans.ts';

beforeAll(startAll);
beforeEach(prepareEach);
afterAll(stopAll);

test('a stream whose handler throws before its first await ends as documented, logged once and traced', async () => {
  fault = new ServiceError('UNAVAILABLE', { cause: new Error('the database is away') });
  expect(await failureOfStream()).toEqual([
    14,
    'The service cannot answer right now. Try again in a moment.',
  ]);
  expect(lines).toMatchObject([
    {
      level: 40,
      msg: 'call failed: unavailable',
      err: { message: 'the database is away' },
      requestId: 'test',
    },
    { level: 30, msg: 'call', status: 'UNAVAILABLE', requestId: 'test' },
  ]);
  expect(served()).toEqual(['scheduling.v1.UserDataService/ExportUserData UNAVAILABLE']);
});

test('a stream that ends as unavailable without a fault behind it, as at a shutdown, is no warning', async () => {
  fault = new ServiceError('UNAVAILABLE');
  expect(await failureOfStream()).toEqual([
    14,
    'The service cannot answer right now. Try again in a moment.',
  ]);
  expect(lines).toMatchObject([{ level: 30, msg: 'call', status: 'UNAVAILABLE' }]);
});

test('a stream of many messages leaves nothing behind for each', async () => {
  let left: number | undefined;
  const sending = await startGrpcServer({
    ...options,
    services: [
      implement<UserDataServiceHandlers>('UserDataService', {
        async ExportUserData(_request, { signal }, send) {
          for (let index = 0; index < 3; index += 1) await send({ material: { title: 'x' } });
          left = getEventListeners(signal, 'abort').length;
        },
        ImportUserData: async () => ({}),
        DeleteUserData: async () => ({}),
      }),
    ],
  });
  const to = { target: `127.0.0.1:${sending.port}`, trust, caller: 'test', deadlineMs: 5000 };
  const clientOf = clientsOf('scheduling.v1', to)<UserDataServiceDefinition, 'ExportUserData'>;
  const reader = clientOf('UserDataService');
  const stream = reader.exportUserData({ userId: 'somebody' }, CALL);
  let received = 0;
  stream.on('data', () => {
    received += 1;
  });
  await once(stream, 'end');
  reader.close();
  await sending.close(500);
  expect([received, left]).toEqual([3, 0]);
});

test('a request of more than 1 MiB is refused before it is read, one of less is', async () => {
  fault = new ServiceError('NOT_FOUND');
  const answerTo = (bytes: number) =>
    client.deleteUserData({ userId: 'a'.repeat(bytes) }, CALL).then(
      () => undefined,
      ({ reason }: ServiceError) => reason,
    );
  expect(await answerTo(1024 * 1024)).toBe('UNAVAILABLE');
  expect(await answerTo(1024 * 1024 - 100)).toBe('NOT_FOUND');
  expect(lines.map((line) => line.status)).toEqual(['NOT_FOUND']);
});

test('a fault of ours in a stream is logged whole, and its caller told only that it happened', async () => {
  fault = new TypeError('a slip of ours');
  expect(await failureOfStream()).toEqual([13, 'Something went wrong on our side. It has been logged.']);
  expect(lines).toMatchObject([
    { level: 50, msg: 'call failed', err: { message: 'a slip of ours' }, requestId: 'test' },
    { level: 30, msg: 'call', status: 'INTERNAL', requestId: 'test' },
  ]);
  expect(lines[0]?.err?.stack).toContain('TypeError: a slip of ours\n    at ');
  expect(served()).toEqual(['scheduling.v1.UserDataService/ExportUserData INTERNAL']);
});

test('a unary call whose handler throws before its first await ends in the same way', async () => {
  fault = new ServiceError('UNAVAILABLE', { cause: new Error('the database is away') });
  expect(await failureOfCall()).toBe('UNAVAILABLE');
  expect(lines.map(({ msg }) => msg)).toEqual(['call failed: unavailable', 'call']);
  expect(served()).toEqual(['scheduling.v1.UserDataService/DeleteUserData UNAVAILABLE']);
});

test('the line of a refused call tells the reason and the field', async () => {
  fault = invalidField('user_id', 'must be a UUID.');
  expect(await failureOfCall()).toBe('INVALID_REQUEST');
  expect(lines).toMatchObject([
    { msg: 'call', status: 'INVALID_ARGUMENT', reason: 'INVALID_REQUEST', field: 'user_id' },
  ]);
});

test('a handler that asks only afterwards is told that its caller has gone', async () => {
  let context: CallContext | undefined;
  const gate = Promise.withResolvers<void>();
  const slow = await startGrpcServer({
    ...options,
    services: [
      implement<UserDataServiceHandlers>('UserDataService', {
        ExportUserData: async () => {},
        ImportUserData: async () => ({}),
        async DeleteUserData({ userId }, ownContext) {
          if (userId === 'next') return {};
          context = ownContext;
          await gate.promise;
          return {};
        },
      }),
    ],
  });
  const to = { target: `127.0.0.1:${slow.port}`, trust, caller: 'test', deadlineMs: 5000 };
  const caller = clientsOf('scheduling.v1', to)<UserDataServiceDefinition>('UserDataService');
  // On a busy machine a call can end before the handler has begun.
  while (context === undefined) {
    const gone = caller.deleteUserData({ userId: 'patient' }, { ...CALL, deadlineMs: 300 });
    await expect(gone).rejects.toMatchObject({ reason: 'UNAVAILABLE' });
  }
  // Behind the end of the first call, on the same connection.
  await caller.deleteUserData({ userId: 'next' }, CALL);
  await expect.poll(() => context?.signal.aborted).toBe(true);
  gate.resolve();
  caller.close();
  await slow.close(500);
});

test.concurrent('a stream goes on beyond the age at which its connection takes no more calls, and beyond the pings of 12.5 s', async () => {
  const ageing = await startGrpcServer({
    ...options,
    maxConnectionAgeMs: 300,
    services: [
      implement<UserDataServiceHandlers>('UserDataService', {
        async ExportUserData(_request, { signal }, send) {
          for (let count = 0; count < 12; count += 1) {
            await send({ material: { title: signal.aborted ? 'cut' : 'whole' } });
            await sleep(1250);
          }
        },
        ImportUserData: async () => ({}),
        DeleteUserData: async () => ({}),
      }),
    ],
  });
  const to = { target: `127.0.0.1:${ageing.port}`, trust, caller: 'test', deadlineMs: 5000 };
  const clientOf = clientsOf('scheduling.v1', to)<UserDataServiceDefinition, 'ExportUserData'>;
  const caller = clientOf('UserDataService');
  const titles: unknown[] = [];
  for await (const { material } of caller.exportUserData({ userId: 'somebody' }, CALL)) {
    titles.push(material?.title);
    await caller.deleteUserData({ userId: 'somebody' }, CALL);
  }
  expect(titles).toEqual(Array(12).fill('whole'));
  caller.close();
  await ageing.close(500);
});

test.concurrent('while tokens are exchanged, a server takes each of its own and no other', async () => {
  const [old, young] = ['o'.repeat(32), 'n'.repeat(32)];
  const guarded = await startGrpcServer({
    ...options,
    trust: { serviceTokens: [young, old], tls: undefined },
    services: [
      implement<UserDataServiceHandlers>('UserDataService', {
        ExportUserData: async () => {},
        ImportUserData: async () => ({}),
        DeleteUserData: async () => ({}),
      }),
    ],
  });
  const answerTo = async (token: string) => {
    const caller = clientsOf('scheduling.v1', {
      target: `127.0.0.1:${guarded.port}`,
      trust: { serviceTokens: [token], tls: undefined },
      caller: 'test',
      deadlineMs: 5000,
    })<UserDataServiceDefinition>('UserDataService');
    const [answer] = await Promise.allSettled([caller.deleteUserData({ userId: 'somebody' }, CALL)]);
    caller.close();
    return answer.status === 'fulfilled' ? 'accepted' : answer.reason.message;
  };
  expect([await answerTo(young), await answerTo(old)]).toEqual(['accepted', 'accepted']);
  const other = 'The service rejects the SERVICE_TOKEN of this program.';
  expect(await answerTo('w'.repeat(32))).toBe(other);
  await guarded.close(500);
});

test.concurrent.each([
  ['says nothing', ''],
  ['has sent half a preface', 'PRI * HT'],
  ['is idle and does not close its side', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0'],
])('a server ends soon, though a connection %s', async (_what, bytes) => {
  const ending = await startGrpcServer({ ...options, services: [] });
  const socket = connect({ port: ending.port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => {});
  // Its settings; after a preface that is not whole they come as well.
  await once(socket, 'data');
  socket.write(bytes, 'latin1');
  const watching = connectHttp2(`http://127.0.0.1:${ending.port}`);
  watching.on('error', () => {});
  const health = watching.request({
    ':method': 'POST',
    ':path': '/grpc.health.v1.Health/Watch',
    'content-type': 'application/grpc',
  });
  health.on('error', () => {}).end(Buffer.alloc(5));
  await once(health, 'data');
  const began = performance.now();
  await ending.close(20_000);
  expect(performance.now() - began).toBeLessThan(15_000);
  socket.destroy();
  watching.destroy();
});

test.concurrent('a server ends though a tool keeps its stream of reflection open', async () => {
  const ending = await startGrpcServer({ ...options, services: [] });
  const tool = connectHttp2(`http://127.0.0.1:${ending.port}`);
  tool.on('error', () => {});
  const reflection = tool.request({
    ':method': 'POST',
    ':path': '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  reflection.on('error', () => {});
  // Asks for the list of services (field 7), and leaves the stream open for more.
  reflection.write(Buffer.from([0, 0, 0, 0, 2, 0x3a, 0]));
  await once(reflection, 'data');
  // Were it waited for as calls are, for ten minutes, so would be the end of this test.
  await ending.close(600_000);
  tool.destroy();
});

test('an id or a name of the caller, or a user ID, that is an API key is not logged', async () => {
  fault = new ServiceError('NOT_FOUND');
  const secret = 'rmk_live_0123456789abcdef';
  const request = { requestId: `id-${secret}`, caller: secret };
  await expect(client.deleteUserData({ userId: secret }, request)).rejects.toMatchObject({
    reason: 'NOT_FOUND',
  });
  await expect.poll(() => lines.length).toBe(1);
  expect(lines[0]).toMatchObject({ msg: 'call', caller: 'unknown' });
  expect(lines[0]).not.toHaveProperty('userId');
  expect(JSON.stringify(lines)).not.toContain(secret);
});

const trust = { serviceTokens: [], tls: undefined };
const CALL = { requestId: 'test' };
const lines: Line[] = [];
const spans = recordSpans();
let fault: Error;
let server: GrpcServer;
let client: GrpcClient<UserDataServiceDefinition, 'ExportUserData'>;

async function startAll(): Promise<void> {
  const fail = () => {
    throw fault;
  };
  server = await startGrpcServer({
    ...options,
    services: [
      implement<UserDataServiceHandlers>('UserDataService', {
        ExportUserData: fail,
        ImportUserData: fail,
        DeleteUserData: fail,
      }),
    ],
    logger: pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) }),
  });
  client = clientsOf('scheduling.v1', {
    target: `127.0.0.1:${server.port}`,
    trust,
    caller: 'test',
    deadlineMs: 5000,
  })('UserDataService');
}

function prepareEach(): void {
  lines.length = 0;
  spans.length = 0;
}

async function stopAll(): Promise<void> {
  client.close();
  await server.close(500);
}

type Line = {
  level: number;
  msg: string;
  requestId?: string;
  status?: string;
  reason?: string;
  field?: string;
  err?: { message: string; stack: string };
};

/** The served calls that have ended. */
const served = () =>
  spans
    .filter(({ kind, name }) => kind === 'SERVER' && name.includes('UserDataService/'))
    .map(({ name, failure }) => `${name} ${failure}`);

/** The gRPC code and text with which the stream ends. */
const failureOfStream = () =>
  new Promise((resolve) => {
    const stream = client.exportUserData({ userId: 'somebody' }, CALL);
    stream.on('error', ({ code, details }: Error & { code: number; details: string }) =>
      resolve([code, details]),
    );
    stream.resume();
  });

const failureOfCall = () =>
  client.deleteUserData({ userId: 'somebody' }, CALL).then(
    () => undefined,
    ({ reason }: ServiceError) => reason,
  );

const options = {
  domain: 'scheduling.v1',
  host: '127.0.0.1',
  port: 0,
  trust,
  logger: pino({ level: 'silent' }),
};
