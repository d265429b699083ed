// Requests of the same moment share calls to the services, and nothing else: what one asks wrongly, hugely or in vain stays its own.
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Clients } from '../../gateway/clients.ts';
import { createSharedReads } from '../../gateway/reads/shared-reads.ts';
import { ServiceError } from '../../services/platform/errors.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startSystem, type TestSystem } from '../support/system.ts';

let system: TestSystem;
let gateway: TestGateway;
beforeAll(async () => {
  system = await startSystem();
  gateway = await startTestGateway(system);
  // So that the services have their connections: on a busy machine a first one may come too late.
  const { userId } = await system.createUser();
  const query = `{ user(id: "${userId}") { materials(query: "a") { nodes { id } } dueMaterials { nodes { id } } } }`;
  for (let round = 0; round < 3; round += 1)
    await Promise.allSettled(Array.from({ length: 16 }, () => gateway.query(query)));
});
afterAll(async () => {
  await gateway.stop();
  await system.stop();
});

const CALL = { requestId: 'test' };
const UNKNOWN = '01900000-0000-7000-8000-000000000000';
const aliases = (count: number, make: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => make(index)).join(' ');

describe('look-ups of users', () => {
  test('by 98 KB of an address or by an invalid id find no user, and do not fail other look-ups', async () => {
    const { userId } = await system.createUser();
    const bad: [query: string, variables: object][] = [
      [
        `query ($e: String) { ${aliases(30, (index) => `u${index}: user(email: $e) { id }`)} }`,
        { e: 'a'.repeat(98_000) },
      ],
      [
        `query ($i: ID) { ${aliases(30, (index) => `u${index}: user(id: $i) { id }`)} }`,
        { i: 'a'.repeat(98_000) },
      ],
    ];
    const rpcs = await gateway.rpcsOf(async () => {
      for (const [query, variables] of bad) {
        const { data, errors } = await gateway.query(query, variables);
        expect([errors, new Set(Object.values(data))]).toEqual([undefined, new Set([null])]);
      }
    });
    expect(rpcs).toEqual([]);
    const [hostile = ['', {}]] = bad;
    const answers = await Promise.all([
      ...[1, 2, 3].map(() => gateway.query(...hostile)),
      ...Array.from({ length: 50 }, () => gateway.query(`{ user(id: "${userId}") { id } }`)),
    ]);
    expect(answers.flatMap(({ errors = [] }) => errors)).toEqual([]);
    expect(answers.slice(3).map(({ data }) => data.user.id)).toEqual(Array(50).fill(userId));
  });

  test('by an address of 254 characters and fewer are looked up', async () => {
    const rpcs = await gateway.rpcsOf(() =>
      gateway.query('query ($e: String) { user(email: $e) { id } }', { e: `${'a'.repeat(242)}@example.com` }),
    );
    expect(rpcs).toEqual(['batchGetUsers']);
  });

  test.each(['userId', 'email'])(
    'of one %s, asked for many times at once, keep no other waiting',
    async (by) => {
      const batches: unknown[][] = [];
      const batchGetUsers = async ({ keys }: { keys: Record<string, string>[] }) => {
        batches.push(keys.map((key) => key[by]));
        return { users: keys.map(() => ({ user: null })) };
      };
      const shared = createSharedReads({
        materials: {},
        reviews: {},
        users: { batchGetUsers },
      } as unknown as Clients);
      const asked = [...Array<string>(40).fill('often'), 'once'];
      await Promise.all(asked.map((key) => shared.user({ [by]: key }, CALL)));
      expect(batches[0]).toHaveLength(16);
      expect(batches[0]).toContain('once');
    },
  );
});

describe('what may be large or costly', () => {
  test('is not read together with what others ask for', async () => {
    const users = await Promise.all(Array.from({ length: 4 }, () => system.createUser()));
    const ask =
      (selection: string) =>
      ({ userId }: { userId: string }) =>
        gateway.query(`{ user(id: "${userId}") { ${selection} } }`);
    const lists = [
      'materials { nodes { title content } }',
      'materials { nodes { title } }',
      'materials(query: "a") { nodes { title } }',
      'materials(type: CARD) { nodes { title } }',
      'dueMaterials { nodes { title sourceUrl } }',
      'dueMaterials { nodes { title } }',
    ];
    const seen = await gateway.requestsOf(() =>
      Promise.all(users.flatMap((user) => lists.map((list) => ask(list)(user)))),
    );
    type Request = { requests?: { view: string; query?: string; type?: string }[] };
    const together = seen.flatMap((request) => (request as Request).requests ?? []);
    expect(together.length).toBeGreaterThan(0);
    expect(new Set(together.map(({ view, query, type }) => `${view} ${query ?? ''} ${type ?? ''}`))).toEqual(
      new Set(['MATERIAL_VIEW_SUMMARY  ']),
    );
  });
});

describe('a joint call that fails', () => {
  const clients = (reads: object) =>
    ({ materials: reads, reviews: reads, users: reads }) as unknown as Clients;
  const bad = { userId: 'bad' };

  test('for one of its callers is made again for each, so that only that one fails', async () => {
    const fail = (): never => {
      throw new ServiceError('INTERNAL_ERROR');
    };
    const isBad = (asked: readonly { userId: string }[]) => asked.length > 1 || asked[0]?.userId === 'bad';
    const list = async ({ requests }: { requests: { userId: string }[] }) =>
      isBad(requests) ? fail() : { responses: requests.map(() => ({ materials: [] })), failedRequests: {} };
    const shared = createSharedReads(
      clients({
        batchListMaterials: list,
        batchListDueMaterials: list,
        batchListReviewsOfUsers: list,
        batchGetUsers: async ({ keys }: { keys: { userId: string }[] }) =>
          isBad(keys) ? fail() : { users: [{ user: keys[0] }] },
      }),
    );
    const asked = [{ userId: 'a' }, bad, { userId: 'b' }];
    for (const read of [shared.materials, shared.dueMaterials, shared.reviews, shared.user] as const) {
      const settled = await Promise.allSettled(asked.map((request) => read(request, CALL)));
      expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    }
  });

  test('since its answer is too large is made again for each', async () => {
    const cause = Object.assign(new Error('8'), {
      code: status.RESOURCE_EXHAUSTED,
      details: 'Received message larger than max (17000000 vs 16777216)',
    });
    const shared = createSharedReads(
      clients({
        batchListMaterials: async ({ requests }: { requests: { userId: string }[] }) => {
          if (requests.length > 1) throw new ServiceError('UNAVAILABLE', { cause });
          const responses = requests.map(({ userId }) => ({ materials: [], nextPageToken: userId }));
          return { responses, failedRequests: {} };
        },
      }),
    );
    const lists = ['a', 'b'].map((userId) => shared.materials({ userId }, CALL));
    expect((await Promise.all(lists)).map(({ nextPageToken }) => nextPageToken)).toEqual(['a', 'b']);
  });

  test('since the service is away is not made again', async () => {
    let calls = 0;
    const away = async (): Promise<never> => {
      calls += 1;
      throw new ServiceError('UNAVAILABLE');
    };
    const shared = createSharedReads(clients({ batchListMaterials: away, batchGetUsers: away }));
    const lists = await Promise.allSettled([1, 2, 3].map(() => shared.materials({ userId: UNKNOWN }, CALL)));
    const users = await Promise.allSettled([1, 2, 3].map(() => shared.user({ userId: UNKNOWN }, CALL)));
    expect([...lists, ...users].map(({ status }) => status)).toEqual(Array(6).fill('rejected'));
    expect(calls).toBe(2);
  });
});

test('requests that share a call have separate read budgets', async () => {
  const users = await Promise.all(Array.from({ length: 8 }, () => system.createUser()));
  const shared = createSharedReads(gateway.clients);
  const spent = () => {
    throw new ServiceError('INVALID_REQUEST', { message: 'spent' });
  };
  const reads = users.map(({ userId }, index) =>
    shared.user({ userId }, index === 0 ? { ...CALL, receive: spent } : CALL),
  );
  const found = await Promise.all(reads);
  expect(found.map((user) => user?.userId)).toEqual(users.map(({ userId }) => userId));
  await expect(shared.user({ userId: users[0]?.userId ?? '' }, { ...CALL, receive: spent })).rejects.toThrow(
    'spent',
  );
});
