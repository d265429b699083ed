// What becomes of the requests of a batch over real gRPC: of one that has less time, that is left out, and where the call fails.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { BatchListMaterialsResponseInput } from '../../../generated/scheduling/v1/BatchListMaterialsResponse.ts';
import type {
  MaterialServiceDefinition,
  MaterialServiceHandlers,
} from '../../../generated/scheduling/v1/MaterialService.ts';
import { ServiceError } from '../../../services/platform/errors.ts';
import { batchCalls, toOutcomes } from '../../../services/platform/grpc/batched-calls.ts';
import { clientsOf, type GrpcClient } from '../../../services/platform/grpc/client.ts';
import { type AsyncHandlers, implement } from '../../../services/platform/grpc/handlers.ts';
import { type GrpcServer, startGrpcServer } from '../../../services/platform/grpc/server.ts';
import { createLogger } from '../../../services/platform/logging/logger.ts';
import { loadProto, serviceDefinition } from '../../../services/platform/protobuf/load.ts';

type Answer = (userIds: readonly string[], signal: AbortSignal) => Promise<BatchListMaterialsResponseInput>;

const proto = loadProto('scheduling.v1');
const definition = serviceDefinition<MaterialServiceDefinition>(proto, 'scheduling.v1.MaterialService');
const trust = { serviceTokens: [], tls: undefined };
let server: GrpcServer;
let client: GrpcClient<MaterialServiceDefinition>;
let answer: Answer;
/** Whose lists each call has asked for. */
let calls: string[] = [];

beforeAll(async () => {
  const handlers = {
    BatchListMaterials: async ({ requests }, { signal }) => {
      const userIds = requests.map(({ userId }) => userId);
      calls.push(userIds.join(' '));
      return answer(userIds, signal);
    },
  } satisfies Partial<AsyncHandlers<MaterialServiceHandlers>>;
  const missing = Object.fromEntries(Object.keys(definition).map((rpc) => [rpc, async () => ({})]));
  const all = { ...missing, ...handlers } as unknown as AsyncHandlers<MaterialServiceHandlers>;
  server = await startGrpcServer({
    ...{ host: '127.0.0.1', port: 0, trust, domain: 'scheduling.v1' },
    logger: createLogger('test', 'silent'),
    services: [implement<MaterialServiceHandlers>('MaterialService', all)],
  });
  const target = `127.0.0.1:${server.port}`;
  const options = { target, trust, caller: 'test', deadlineMs: 10_000 };
  client = clientsOf('scheduling.v1', options)('MaterialService');
});
afterAll(async () => {
  client.close();
  await server.close(100);
});
afterEach(() => {
  calls = [];
});

const listsOf = (userIds: readonly string[]): BatchListMaterialsResponseInput => ({
  responses: userIds.map((userId) => ({ nextPageToken: `list of ${userId}` })),
});
const createList = () =>
  batchCalls(
    async (requests: readonly { userId: string }[], call) =>
      toOutcomes(await client.batchListMaterials({ requests: [...requests] }, call)),
    { maxInFlight: 4, deadlineMs: 10_000, fairnessKeyOf: ({ userId }) => userId },
  );
/** Requests of one moment, named by whom they are of, with their deadlines in milliseconds: the list of each, or its error. */
function ask<N extends string>(deadlines: Record<N, number>): Record<N, Promise<string>> {
  const list = createList();
  const asked = Object.entries<number>(deadlines).map(([userId, deadlineMs]) => {
    const answered = list({ userId }, { requestId: userId, deadlineMs }).then(
      ({ nextPageToken }) => nextPageToken,
      (error) => (error instanceof ServiceError ? error.reason : String(error)),
    );
    return [userId, answered];
  });
  return Object.fromEntries(asked);
}
const LONG_MS = 10_000;

test('one with less time than the others of its batch fails alone, while they wait on', async () => {
  const held = Promise.withResolvers<void>();
  answer = async (userIds) => {
    await held.promise;
    return listsOf(userIds);
  };
  const asked = ask({ ada: LONG_MS, bob: 200, cy: LONG_MS });
  expect(await asked.bob).toBe('UNAVAILABLE');
  held.resolve();
  expect([await asked.ada, await asked.cy]).toEqual(['list of ada', 'list of cy']);
  expect(calls).toEqual(['ada bob cy']);
});

const ABORTED = { code: status.ABORTED, message: 'Send this request as a batch of one.', details: [] };
/** Of several all but bob's. */
const allButBob = (userIds: readonly string[]): BatchListMaterialsResponseInput => ({
  ...listsOf(userIds),
  failedRequests: userIds.length === 1 ? {} : { [userIds.indexOf('bob')]: ABORTED },
});

test('one that is answered with ABORTED is sent again alone, and its answer is its own', async () => {
  answer = async (userIds) => allButBob(userIds);
  const asked = ask({ ada: LONG_MS, bob: LONG_MS, cy: LONG_MS });
  expect(await Promise.all([asked.ada, asked.bob, asked.cy])).toEqual([
    'list of ada',
    'list of bob',
    'list of cy',
  ]);
  expect(calls).toEqual(['ada bob cy', 'bob']);
});

test('one that is sent again alone has only the time that its batch has left it', async () => {
  const askOnce = async () => {
    calls = [];
    const startMs = performance.now();
    const gone = Promise.withResolvers<number>();
    answer = async (userIds, signal) => {
      if (userIds.length > 1) await sleep(1500);
      else await once(signal, 'abort').then(() => gone.resolve(performance.now() - startMs));
      return allButBob(userIds);
    };
    const asked = ask({ ada: LONG_MS, bob: 2000 });
    const outcome = await asked.bob;
    const failedMs = performance.now() - startMs;
    const list = await asked.ada;
    // Never, where bob was not sent again.
    const goneMs = await Promise.race([gone.promise, sleep(5000)]);
    // With 2 s of its own it would take 3.5 s.
    const isInTime = [failedMs, goneMs ?? 0].map((passedMs) => passedMs > 1900 && passedMs < 3400);
    return { outcome, list, calls, isInTime };
  };
  // Again where a busy machine left bob no time to be sent again, or let him wait.
  await expect.poll(askOnce, { timeout: 40_000 }).toEqual({
    outcome: 'UNAVAILABLE',
    list: 'list of ada',
    calls: ['ada bob', 'bob'],
    isInTime: [true, true],
  });
});

test('where the whole call fails with INTERNAL each is sent alone, and only the one at fault fails', async () => {
  answer = async (userIds) => {
    if (userIds.includes('bob')) throw new Error('a fault of ours');
    return listsOf(userIds);
  };
  const asked = ask({ ada: LONG_MS, bob: LONG_MS, cy: LONG_MS });
  expect(await Promise.all([asked.ada, asked.bob, asked.cy])).toEqual([
    'list of ada',
    'INTERNAL_ERROR',
    'list of cy',
  ]);
  expect(calls).toHaveLength(4);
  expect(calls).toEqual(expect.arrayContaining(['ada bob cy', 'ada', 'bob', 'cy']));
});

test('where the whole call fails with UNAVAILABLE all fail, and nothing is sent again', async () => {
  answer = async () => {
    throw new ServiceError('UNAVAILABLE');
  };
  const asked = ask({ ada: LONG_MS, bob: LONG_MS });
  expect(await Promise.all([asked.ada, asked.bob])).toEqual(['UNAVAILABLE', 'UNAVAILABLE']);
  expect(calls).toEqual(['ada bob']);
});

test('what a batch weighs counts for none of its requests', async () => {
  answer = async (userIds) => listsOf(userIds);
  const list = createList();
  const counted: number[] = [];
  const askAsAda = () =>
    list({ userId: 'ada' }, { requestId: 'ada', receive: (bytes) => void counted.push(bytes) });
  await Promise.all([askAsAda(), list({ userId: 'bob' }, { requestId: 'bob' })]);
  expect([calls, counted]).toEqual([['ada bob'], []]);
  await askAsAda();
  expect(counted).toHaveLength(1);
});
