// Every list, read page by page where rows share an instant: each row comes once, and in order.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ListMaterialsRequestInput } from '../../generated/scheduling/v1/ListMaterialsRequest.ts';
import type { ListMaterialsResponse as MaterialsPage } from '../../generated/scheduling/v1/ListMaterialsResponse.ts';
import { CALL } from '../support/scheduling.ts';
import {
  at,
  EARLIER,
  LONG_QUERY,
  learner,
  NOW,
  owner,
  type Rows,
  reviewer,
  startTwinRows,
  struggler,
  type TwinRows,
} from './twin-rows.ts';

beforeAll(startAll);
afterAll(() => twins.stop());

describe.each(Object.entries(lists()))('pages of %s', (_, { read, expected }) => {
  test.each([1, 2, 3, 4, 100])('of %i hold each row once, in order', async (pageSize) => {
    const pages: (string | undefined)[][] = [];
    for (let pageToken = ''; ; ) {
      const { ids, nextPageToken } = await read({ pageSize, pageToken });
      pages.push(ids);
      pageToken = nextPageToken;
      if (pageToken === '') break;
    }
    const all = expected();
    expect(pages.flat()).toEqual(all);
    expect(pages).toHaveLength(Math.ceil(all.length / pageSize));
  });
});

let twins: TwinRows;
let here: TwinRows['here'];

async function startAll(): Promise<void> {
  twins = await startTwinRows();
  here = twins.here;
}

const ascending = ({ earlier, later }: Rows) => [...earlier.toSorted(), ...later.toSorted()];
/** Of all kinds together. */
const newestOf = (
  ...kinds: ('titles' | 'others' | 'archived' | 'reviews' | 'snoozes' | 'users' | 'keys')[]
) => {
  const all = kinds.map((kind) => twins.rows[kind]);
  const rows = { earlier: all.flatMap(({ earlier }) => earlier), later: all.flatMap(({ later }) => later) };
  return ascending(rows).toReversed();
};
/** Of one material, its revisions tell the order. */
const latestOf = (kind: 'reviews' | 'snoozes') =>
  [...twins.rows[kind].earlier, ...twins.rows[kind].later].toReversed();

const ofMaterials = ({ materials, nextPageToken }: MaterialsPage): Ids => ({
  ids: materials.map(({ materialId }) => materialId),
  nextPageToken,
});

const window = { timeZone: 'Europe/Berlin', days: 30 };

type Page = { pageSize: number; pageToken: string };
type Ids = { ids: (string | undefined)[]; nextPageToken: string };
type List = { read: (page: Page, change?: object) => Promise<Ids>; expected: () => string[] };

function lists(): Record<string, List> {
  return {
    'active materials': materials({}, () => newestOf('titles', 'others')),
    'all materials': materials({ state: 'MATERIAL_STATE_ANY' }, () =>
      newestOf('titles', 'others', 'archived'),
    ),
    'archived materials': materials({ state: 'MATERIAL_STATE_ARCHIVED' }, () => newestOf('archived')),
    'materials of a type': materials({ type: 'MATERIAL_TYPE_CARD' }, () => newestOf('others')),
    'materials that are due': materials({ due: 'DUE_STATE_DUE' }, () => newestOf('titles', 'others')),
    'materials that are not due': {
      read: async (page) => {
        here.setClock('2029-12-31T23:59:59.999Z');
        const request = { userId: owner, due: 'DUE_STATE_NOT_DUE', ...page } as const;
        return ofMaterials(
          await here.materials.listMaterials(request, CALL).finally(() => here.setClock(NOW)),
        );
      },
      expected: () => newestOf('titles', 'others'),
    },
    'what a short text is found in': materials({ query: 'quokka' }, () => [
      ...newestOf('titles'),
      ...newestOf('others'),
    ]),
    'what a long text is found in': materials({ query: LONG_QUERY }, () => newestOf('others')),
    'due materials': {
      read: async (page) =>
        ofMaterials(await here.materials.listDueMaterials({ userId: learner, ...page }, CALL)),
      expected: () => [...twins.rows.dueAtOnce.toSorted(), ...ascending(twins.rows.due)],
    },
    reviews: {
      read: async (page) => {
        const answer = await here.reviews.listReviews({ userId: reviewer, ...page }, CALL);
        return { ...answer, ids: answer.reviews.map(({ reviewId }) => reviewId) };
      },
      expected: () => newestOf('reviews'),
    },
    'reviews of a material': {
      read: async (page) => {
        const request = { userId: reviewer, materialId: twins.rows.reviewedId, ...page };
        const answer = await here.reviews.listReviews(request, CALL);
        return { ...answer, ids: answer.reviews.map(({ reviewId }) => reviewId) };
      },
      expected: () => latestOf('reviews'),
    },
    snoozes: {
      read: async (page) => {
        const answer = await here.snoozes.listSnoozes({ userId: reviewer, ...page }, CALL);
        return { ...answer, ids: answer.snoozes.map(({ snoozeId }) => snoozeId) };
      },
      expected: () => newestOf('snoozes'),
    },
    'snoozes of a material': {
      read: async (page) => {
        const request = { userId: reviewer, materialId: twins.rows.reviewedId, ...page };
        const answer = await here.snoozes.listSnoozes(request, CALL);
        return { ...answer, ids: answer.snoozes.map(({ snoozeId }) => snoozeId) };
      },
      expected: () => latestOf('snoozes'),
    },
    'the hardest materials': {
      read: async (page) => {
        const answer = await here.stats.listHardestMaterials(
          { userId: struggler, window, minReviews: 1, ...page },
          CALL,
        );
        return { ...answer, ids: answer.materials.map((row) => row.material?.materialId) };
      },
      expected: () => [...twins.rows.reviewedFourTimes.toSorted(), ...twins.rows.reviewedTwice.toSorted()],
    },
    users: {
      read: async (page) => {
        const answer = await twins.accounts.users.listUsers(page, CALL);
        return { ...answer, ids: answer.users.map(({ userId }) => userId) };
      },
      expected: () => newestOf('users'),
    },
    'changed users': {
      read: async (page) => {
        const request = { changedSinceTime: at(EARLIER), ...page };
        const answer = await twins.accounts.users.listChangedUsers(request, CALL);
        return { ...answer, ids: answer.users.map(({ userId }) => userId) };
      },
      expected: () => ascending(twins.rows.users),
    },
    'refused API keys': {
      read: async (page) => {
        const answer = await twins.accounts.apiKeys.listRefusedApiKeys(page, CALL);
        return { ...answer, ids: answer.apiKeys.map(({ apiKeyId }) => apiKeyId) };
      },
      expected: () => newestOf('keys'),
    },
    'API keys': {
      read: async (page) => {
        const answer = await twins.accounts.apiKeys.listApiKeys(
          { userId: twins.rows.keyOwnerId, ...page },
          CALL,
        );
        return { ...answer, ids: answer.apiKeys.map(({ apiKeyId }) => apiKeyId) };
      },
      expected: () => newestOf('keys'),
    },
  };
}

function materials(request: ListMaterialsRequestInput, expected: () => string[]): List {
  return {
    read: async (page) =>
      ofMaterials(await here.materials.listMaterials({ userId: owner, ...request, ...page }, CALL)),
    expected,
  };
}
