// A page token belongs to the filter that made it: any other field, and any other user, is refused.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ListMaterialsRequestInput } from '../../generated/scheduling/v1/ListMaterialsRequest.ts';
import { CALL, newUserId, refusal } from '../support/scheduling.ts';
import { at, EARLIER, LATER, learner, NOW, owner, reviewer, startTwinRows, struggler } from './twin-rows.ts';

beforeAll(startAll);
afterAll(() => twins.stop());

test('a page token of materials is refused with any other filter, by another user, and is the filter’s own', async () => {
  const filters: ListMaterialsRequestInput[] = [
    {},
    { state: 'MATERIAL_STATE_ANY' },
    { state: 'MATERIAL_STATE_ARCHIVED' },
    { type: 'MATERIAL_TYPE_SIMPLE' },
    { type: 'MATERIAL_TYPE_CARD' },
    { due: 'DUE_STATE_DUE' },
    { due: 'DUE_STATE_NOT_DUE' },
    { labels: ['Marsupials'] },
    { query: 'quokka' },
    { query: 'quokk' },
    { query: 'quokka', state: 'MATERIAL_STATE_ANY' },
    { query: 'quokka', type: 'MATERIAL_TYPE_SIMPLE' },
    { query: 'quokka', due: 'DUE_STATE_DUE' },
  ];
  const list = (request: ListMaterialsRequestInput) =>
    here.materials.listMaterials({ userId: owner, pageSize: 1, ...request }, CALL);
  for (const from of filters) {
    const { nextPageToken: pageToken } = await list(from);
    // Nothing is later than now, or has labels.
    if (pageToken === '') continue;
    for (const to of filters) {
      const outcome = await refusal(list({ ...to, pageToken }));
      expect([from, to, outcome]).toEqual([from, to, from === to ? 'no error' : REFUSED]);
    }
    expect(await refusal(list({ ...from, pageToken, userId: nobody }))).toBe(REFUSED);
  }
});

test('a page token of any other list is refused with another material, window or user', async () => {
  const other = await here.create(reviewer);
  await here.reviews.submitReview({ userId: reviewer, materialId: other, quality: 5 }, CALL);
  const of = { userId: reviewer, materialId: twins.rows.reviewedId };
  const hardest = {
    userId: struggler,
    window: { timeZone: 'Europe/Berlin', days: 30, asOfTime: at(NOW) },
    minReviews: 1,
  };
  const withWindow = (change: object) => ({ window: { ...hardest.window, ...change } });
  type Call = (request: object) => Promise<{ nextPageToken: string }>;
  const cases: [string, Call, object, object[]][] = [
    [
      'due',
      (request) => here.materials.listDueMaterials(request, CALL),
      { userId: learner },
      [{ userId: nobody }],
    ],
    [
      'reviews',
      (request) => here.reviews.listReviews(request, CALL),
      of,
      [{ materialId: other }, { materialId: '' }, { userId: nobody }],
    ],
    [
      'all reviews',
      (request) => here.reviews.listReviews(request, CALL),
      { userId: reviewer },
      [{ materialId: twins.rows.reviewedId }, { userId: nobody }],
    ],
    [
      'snoozes',
      (request) => here.snoozes.listSnoozes(request, CALL),
      of,
      [{ materialId: other }, { materialId: '' }, { userId: nobody }],
    ],
    [
      'all snoozes',
      (request) => here.snoozes.listSnoozes(request, CALL),
      { userId: reviewer },
      [{ materialId: twins.rows.reviewedId }, { userId: nobody }],
    ],
    [
      'hardest',
      (request) => here.stats.listHardestMaterials(request, CALL),
      hardest,
      [
        { userId: nobody },
        { minReviews: 2 },
        withWindow({ days: 29 }),
        withWindow({ timeZone: 'UTC' }),
        withWindow({ asOfTime: at(LATER) }),
        withWindow({ asOfTime: null }),
      ],
    ],
    [
      'keys',
      (request) => twins.accounts.apiKeys.listApiKeys(request, CALL),
      { userId: twins.rows.keyOwnerId },
      [{ userId: twins.rows.users.earlier[0] }],
    ],
    [
      'changed users',
      (request) => twins.accounts.users.listChangedUsers(request, CALL),
      { changedSinceTime: at(EARLIER) },
      [{ changedSinceTime: at(LATER) }],
    ],
    [
      'events of a user',
      (request) => twins.events.listUserEvents(request, CALL),
      { userId: twins.rows.keyOwnerId },
      [
        { userId: twins.rows.users.earlier[0] },
        { kinds: ['USER_EVENT_KIND_KEY'] },
        { excludedActions: ['revokeApiKey'] },
      ],
    ],
    [
      'events of all users',
      (request) => twins.events.listAllEvents(request, CALL),
      {},
      [{ actor: 'olga' }, { action: 'createApiKey' }, { sinceTime: at(EARLIER) }, { untilTime: at(LATER) }],
    ],
  ];
  for (const [name, call, request, changes] of cases) {
    const { nextPageToken: pageToken } = await call({ ...request, pageSize: 1 });
    expect([name, await refusal(call({ ...request, pageToken }))]).toEqual([name, 'no error']);
    for (const change of changes) {
      const outcome = await refusal(call({ ...request, pageToken, ...change }));
      expect([name, change, outcome]).toEqual([name, change, REFUSED]);
    }
  }
});

let twins: Awaited<ReturnType<typeof startTwinRows>>;
let here: (typeof twins)['here'];

async function startAll(): Promise<void> {
  twins = await startTwinRows();
  here = twins.here;
}

const REFUSED = 'INVALID_REQUEST page_token';
const nobody = newUserId();
