// Lists of one and of several: whatever is asked for together is answered as it is alone, or told to come alone.
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Material } from '../../../generated/scheduling/v1/Material.ts';
import { ServiceError } from '../../../services/platform/errors.ts';
import { type Outcome, SEND_ALONE, toOutcomes } from '../../../services/platform/grpc/batched-calls.ts';
import { CALL, startTestScheduling, type TestScheduling } from '../../support/scheduling.ts';
import { makeLibraries } from './libraries.ts';

type List = { materials: Material[]; nextPageToken: string };
/** What an outcome tells: a list, the reason, field and message of an error, or that the request is to be sent alone. */
type Told = List | unknown[] | 'send alone';

let here: TestScheduling;
let userIds: string[];
beforeAll(async () => {
  here = await startTestScheduling();
  here.setClock('2026-11-20T10:00:00Z');
  userIds = await makeLibraries(here);
  here.setClock('2026-12-01T10:00:00Z');
});
afterAll(() => here.stop());

const most = <const T>(usual: T, ...others: T[]) =>
  fc.oneof(
    { weight: 6, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  );
const drawn = fc.record({
  /** Beyond the last: no UUID. */
  user: fc.nat(6),
  /** So many pages on, or a token that does not belong there. */
  page: fc.oneof(
    { weight: 6, arbitrary: fc.nat(3) },
    { weight: 1, arbitrary: fc.constantFrom('of another user', 'unreadable') },
  ),
  asked: fc.record({
    pageSize: fc.constantFrom<number>(0, 1, 2, 3, 5, 50, 101),
    view: fc.constantFrom(
      'MATERIAL_VIEW_SUMMARY',
      'MATERIAL_VIEW_BASIC',
      'MATERIAL_VIEW_FULL',
      'MATERIAL_VIEW_UNSPECIFIED',
    ),
    // Only the list of the newest knows these.
    query: most('', 'title', 'é', 'nothing has this'),
    state: most(
      'MATERIAL_STATE_UNSPECIFIED',
      'MATERIAL_STATE_ACTIVE',
      'MATERIAL_STATE_ARCHIVED',
      'MATERIAL_STATE_ANY',
    ),
    type: most('MATERIAL_TYPE_UNSPECIFIED', 'MATERIAL_TYPE_CARD', 'MATERIAL_TYPE_FLASHCARD'),
    due: most('DUE_STATE_UNSPECIFIED', 'DUE_STATE_DUE', 'DUE_STATE_NOT_DUE'),
  }),
});
type Drawn = typeof drawn extends fc.Arbitrary<infer D> ? D : never;
type Request = Drawn['asked'] & { userId: string; pageToken: string };

type Kind = {
  alone(request: Request): Promise<List>;
  together(requests: Request[]): Promise<Outcome<List>[]>;
  /** Whether it may read many rows to find few. */
  isFiltered(request: Request): boolean;
};
const NEWEST: Kind = {
  alone: (request) => here.materials.listMaterials(request, CALL),
  together: async (requests) => toOutcomes(await here.materials.batchListMaterials({ requests }, CALL)),
  isFiltered: ({ query, state, type, due }) =>
    query !== '' ||
    ['MATERIAL_STATE_ARCHIVED', 'MATERIAL_STATE_ANY'].includes(state) ||
    type !== 'MATERIAL_TYPE_UNSPECIFIED' ||
    due !== 'DUE_STATE_UNSPECIFIED',
};
const DUE: Kind = {
  alone: (request) => here.materials.listDueMaterials(request, CALL),
  together: async (requests) => toOutcomes(await here.materials.batchListDueMaterials({ requests }, CALL)),
  isFiltered: () => false,
};

async function toRequest(kind: Kind, { user, page, asked }: Drawn): Promise<Request> {
  const [userId = 'no UUID', otherId = ''] = [userIds[user], userIds[user === 3 ? 2 : 3]];
  const request = { ...asked, userId, pageToken: page === 'unreadable' ? 'x' : '' };
  const after = async (change: Partial<Request>) =>
    (await kind.alone({ ...request, pageSize: 2, ...change })).nextPageToken;
  if (page === 'of another user') return { ...request, pageToken: await after({ userId: otherId }) };
  if (typeof page === 'string' || userId === 'no UUID') return request;
  let pageToken = '';
  for (let count = 0; count < page; count += 1) pageToken = (await after({ pageToken })) || pageToken;
  return { ...request, pageToken };
}

const told = (outcome: unknown): Told => {
  if (outcome === SEND_ALONE) return 'send alone';
  if (outcome instanceof ServiceError) return [outcome.reason, outcome.field, outcome.message];
  return outcome as List;
};

/** The response to a request alone, and the expected one in a batch. */
async function expectedOf(kind: Kind, request: Request): Promise<{ alone: Told; together: Told }> {
  const alone = told(await kind.alone(request).catch((error: unknown) => error));
  // A bad request fails by itself; but the token of a search is read where the search is made.
  const isBad =
    Array.isArray(alone) && !(kind.isFiltered(request) && request.query && alone[1] === 'page_token');
  return { alone, together: !isBad && (await isCostly(kind, request)) ? 'send alone' : alone };
}

/** What is filtered, and texts of more than 4,096 bytes on the page or just behind it. */
async function isCostly(kind: Kind, request: Request): Promise<boolean> {
  if (kind.isFiltered(request)) return true;
  if (request.view === 'MATERIAL_VIEW_BASIC' || request.view === 'MATERIAL_VIEW_SUMMARY') return false;
  const { materials } = await kind.alone({ ...request, pageSize: (request.pageSize || 20) + 1 });
  return materials.some(({ content }) => Buffer.byteLength(content ?? '') > 4096);
}

const noneIsAnswered = (all: readonly Told[]) =>
  all.every((each) => each === 'send alone' || Array.isArray(each));
/** Asked again where the database was late for all of them, which a busy machine can be. */
async function askTogether(kind: Kind, requests: Request[], expected: readonly Told[]): Promise<Told[]> {
  for (let left = 9; ; left -= 1) {
    const found = (await kind.together(requests)).map(told);
    if (left === 0 || !noneIsAnswered(found) || noneIsAnswered(expected)) return found;
  }
}

test.each([
  ['newest', NEWEST],
  ['due', DUE],
])('lists of the %s are answered together as alone, or told to come alone where costly', async (_, kind) => {
  const seen = { answered: 0, sentAlone: 0, refused: 0, laterPages: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(drawn, { minLength: 2, maxLength: 16 }), async (draws) => {
      const requests = await Promise.all(draws.map((each) => toRequest(kind, each)));
      const outcomes = await Promise.all(requests.map((request) => expectedOf(kind, request)));
      const expected = outcomes.map(({ together }) => together);
      expect(await askTogether(kind, requests, expected)).toEqual(expected);
      for (const [index, each] of expected.entries()) {
        seen[each === 'send alone' ? 'sentAlone' : Array.isArray(each) ? 'refused' : 'answered'] += 1;
        seen.laterPages += Number(!Array.isArray(each) && requests[index]?.pageToken !== '');
      }
    }),
    { numRuns: 40 },
  );
  // Else the draws would have shown less than the name of this test says.
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0);
});

test.each([
  ['newest', NEWEST],
  ['due', DUE],
])('a batch of one list of the %s is answered as the list alone, whatever it costs', async (_, kind) => {
  await fc.assert(
    fc.asyncProperty(drawn, async (draw) => {
      const request = await toRequest(kind, draw);
      const { alone } = await expectedOf(kind, request);
      const outcomes = await kind.together([request]).catch((error: unknown) => [error]);
      expect(outcomes.map(told)).toEqual([alone]);
    }),
    { numRuns: 150 },
  );
});
