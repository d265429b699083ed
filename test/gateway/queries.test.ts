import { randomUUID } from 'node:crypto';
import { getNamedType, isLeafType, isObjectType } from 'graphql';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { readConnection } from '../../gateway/connections.ts';
import { buildGatewaySchema } from '../../gateway/schema/schema.ts';
import { ServiceError } from '../../services/platform/errors.ts';
import { type Given, test } from '../fixtures.ts';
import { createApi } from '../support/api.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

test.beforeAll(takeServices);

describe('the number of RPCs', () => {
  let busy: Awaited<ReturnType<typeof learner>>;
  beforeAll(async () => {
    busy = await learner(60);
  });

  test('of a dashboard over materials with their latest reviews is 3, whatever the page size', async () => {
    const { userId, ids } = busy;
    await gateway.query(REVIEW, { input: { userId, materialId: ids.at(-1), quality: 4 } });
    for (const first of [1, 10, 50, 100]) {
      let answer: { data: { user: { materials: { nodes: unknown[] } } } } | undefined;
      const rpcs = await gateway.rpcsOf(async () => {
        answer = await gateway.query(DASHBOARD, { id: userId, first });
      });
      expect(rpcs).toEqual(['batchGetUsers', 'listMaterials', 'batchListReviews']);
      expect(answer?.data.user.materials.nodes).toHaveLength(Math.min(first, 60));
      expect(answer?.data.user.materials.nodes[0]).toMatchObject({
        title: 'm59',
        reviews: { nodes: [{ quality: 4 }] },
      });
    }
  });

  test('of a page of 20 users with what is due for each is one for the list and one for each user', async () => {
    for (let index = 0; index < 20; index += 1) await system.createUser();
    const rpcs = await gateway.rpcsOf(() =>
      gateway.query('{ users(first: 20) { nodes { email dueMaterials(first: 5) { nodes { title } } } } }'),
    );
    expect(rpcs).toEqual(['listUsers', ...Array<string>(20).fill('listDueMaterials')]);
  });

  test('of users looked up in one request is 1, and none for an impossible id or address', async () => {
    const found = await Promise.all(Array.from({ length: 5 }, () => system.createUser()));
    const fields = found.map(({ userId }, index) => `u${index}: user(id: "${userId}") { id }`).join(' ');
    const long = 'a'.repeat(45_000);
    const rpcs = await gateway.rpcsOf(async () => {
      const { data } = await gateway.query(
        `query ($long: String, $id: ID) { ${fields} a: user(email: $long) { id } b: user(id: $id) { id } }`,
        { long, id: long },
      );
      expect(Object.values(data)).toEqual([...found.map(({ userId }) => ({ id: userId })), null, null]);
    });
    expect(rpcs).toEqual(['batchGetUsers']);
  });

  test('of a learner at a glance is one for each statistic and list', async () => {
    const { userId } = await learner(3);
    const rpcs = await gateway.rpcsOf(() =>
      gateway.query(
        `query ($id: ID) { user(id: $id) {
          stats { forecast { dueNow } activity { longestStreakDays } retention { total { reviews } }
            distributions { grades { count } } hardestMaterials { nodes { material { title } } } }
          dueMaterials { nodes { title } } reviews(first: 10) { nodes { material { title } } } } }`,
        { id: userId },
      ),
    );
    expect(rpcs.toSorted()).toEqual([
      'batchGetUsers',
      'getActivity',
      'getDistributions',
      'getForecast',
      'getRetention',
      'listDueMaterials',
      'listHardestMaterials',
      'listReviews',
    ]);
  });

  test('of long histories is one for each 1,000 reviews: 19 materials with 50 each, and one more to see whether more follow', async () => {
    const { userId } = busy;
    const rpcs = await gateway.rpcsOf(() =>
      gateway.query(
        `query ($id: ID) { user(id: $id) { materials(first: 40) { nodes { reviews(first: 50) { nodes { quality } } } } } }`,
        { id: userId },
      ),
    );
    expect(rpcs).toEqual([
      'batchGetUsers',
      'listMaterials',
      'batchListReviews',
      'batchListReviews',
      'batchListReviews',
    ]);
  });

  test('of a history with the materials of its reviews is 3, and 4 with the histories of these', async () => {
    const { userId, ids } = await learner(3);
    for (const materialId of ids) await gateway.query(REVIEW, { input: { userId, materialId, quality: 4 } });
    const rpcs = await gateway.rpcsOf(() =>
      gateway.query('query ($id: ID) { user(id: $id) { reviews { nodes { material { title } } } } }', {
        id: userId,
      }),
    );
    expect(rpcs).toEqual(['batchGetUsers', 'listReviews', 'batchGetMaterials']);
    const histories = await gateway.rpcsOf(() =>
      gateway.query(
        'query ($id: ID) { user(id: $id) { reviews { nodes { material { reviews(first: 2) { nodes { quality } } } } } } }',
        { id: userId },
      ),
    );
    expect(histories).toEqual([...rpcs, 'batchListReviews']);
  });

  const DASHBOARD = `query ($id: ID, $first: Int) {
    user(id: $id) {
      email
      materials(first: $first) { nodes { id title ef isDue reviews(first: 3) { nodes { quality reviewedAt } } } }
    }
  }`;
});

test.each(['00000000-0000-7000-8000-000000000000', 'nothing', ''])(
  'reviews and snoozes of the material "%s", which does not exist, are none, and the rest of the user is there',
  async (materialId) => {
    const { userId, ids } = await learner(1);
    await gateway.query(REVIEW, { input: { userId, materialId: ids[0], quality: 4 } });
    const lists = 'reviews(materialId: $of) { nodes { quality } } snoozes(materialId: $of) { nodes { id } }';
    const query = `query ($id: ID, $of: ID) { user(id: $id) { id ${lists} } }`;
    const none = { nodes: [] };
    expect(await gateway.query(query, { id: userId, of: materialId })).toMatchObject({
      data: { user: { id: userId, reviews: none, snoozes: none } },
    });
    const { data } = await gateway.query(query, { id: userId, of: null });
    expect(data.user.reviews.nodes).toEqual([{ quality: 4 }]);
  },
);

test('an ID in the place of an address is nobody, also beside the user of this ID', async () => {
  const { userId } = await system.createUser();
  const query = `{ of: user(email: "${userId}") { id } user(id: "${userId}") { id } }`;
  expect((await gateway.query(query)).data).toEqual({ of: null, user: { id: userId } });
});

describe('a connection', () => {
  const PAGE = `query ($id: ID, $first: Int, $after: String) { user(id: $id) { materials(first: $first, after: $after) {
    nodes { title } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`;
  const page = async (id: string, first: number, after?: string) =>
    (await gateway.query(PAGE, { id, first, after })).data.user.materials;

  test('is read page by page to its end, one RPC a page', async () => {
    const { userId } = await learner(7);
    const titles: string[] = [];
    for (let after: string | undefined; ; ) {
      const { nodes, pageInfo } = await page(userId, 3, after);
      titles.push(...nodes.map(({ title }: { title: string }) => title));
      expect(pageInfo.hasPreviousPage).toBe(false);
      if (!pageInfo.hasNextPage) break;
      after = pageInfo.endCursor;
    }
    expect(titles).toEqual(['m6', 'm5', 'm4', 'm3', 'm2', 'm1', 'm0']);
    const second = (await page(userId, 3)).pageInfo.endCursor;
    const rpcs = await gateway.rpcsOf(() => page(userId, 3, second));
    expect(rpcs).toEqual(['batchGetUsers', 'listMaterials']);
  });

  test('is whole where its rows have long texts, which one more call reads', async () => {
    const { userId } = await learner(0);
    const content = 'x'.repeat(200_000);
    for (let index = 0; index < 23; index += 1)
      await gateway.clients.materials.createMaterial({ userId, title: `m${index}`, content }, CALL);
    const query = `query ($id: ID) { user(id: $id) { materials(first: 100) {
      nodes { title content } pageInfo { hasNextPage } } } }`;
    const rpcs = await gateway.rpcsOf(async () => {
      const { nodes, pageInfo } = (await gateway.query(query, { id: userId })).data.user.materials;
      const found = nodes.map(({ title }: { title: string }) => title);
      expect(found).toEqual(Array.from({ length: 23 }, (_, index) => `m${22 - index}`));
      expect(nodes.every((node: { content: string }) => node.content === content)).toBe(true);
      expect(pageInfo).toEqual({ hasNextPage: false });
    });
    expect(rpcs).toEqual(['batchGetUsers', 'listMaterials', 'batchGetMaterials']);
  });

  test('goes on after its first and its last row', async () => {
    const { userId } = await learner(7);
    const { pageInfo } = await page(userId, 5);
    for (const [cursor, expected, isMore] of [
      [pageInfo.startCursor, ['m5', 'm4'], true],
      [pageInfo.endCursor, ['m1', 'm0'], false],
    ]) {
      const next = await page(userId, 2, cursor);
      expect(next.nodes.map(({ title }: { title: string }) => title)).toEqual(expected);
      expect(next.pageInfo.hasNextPage).toBe(isMore);
    }
  });

  test('goes on after its last row where others have come and gone since', async () => {
    const { userId, ids, api } = await learner(5);
    const cursors = new Map<string, string>();
    for (const first of [1, 2, 3, 4]) {
      const { nodes, pageInfo } = await page(userId, first);
      cursors.set(nodes.at(-1).title, pageInfo.endCursor);
    }
    const next = async (cursor: string | undefined) =>
      (await page(userId, 2, cursor)).nodes.map(({ title }: { title: string }) => title);
    await api.create({ title: 'new' });
    expect(await next(cursors.get('m2'))).toEqual(['m1', 'm0']);
    const archive = `mutation ($input: MaterialInput!) { archiveMaterial(input: $input) { material { id } } }`;
    await gateway.query(archive, { input: { userId, materialId: ids[4] } });
    expect(await next(cursors.get('m3'))).toEqual(['m2', 'm1']);
  });

  test('refuses a bad size and a cursor that is none, or another list’s', async () => {
    const { userId } = await learner(3);
    const errors = async (first: number, after?: string) =>
      (await gateway.query(PAGE, { id: userId, first, after })).errors?.[0]?.extensions;
    expect(await errors(0)).toEqual({ code: 'INVALID_REQUEST', field: 'first' });
    expect(await errors(101)).toEqual({ code: 'INVALID_REQUEST', field: 'first' });
    expect(await errors(1, 'nonsense')).toEqual({ code: 'INVALID_REQUEST', field: 'after' });
    const cursor = (await page(userId, 1)).pageInfo.endCursor;
    const other = await learner(1);
    const foreign = await gateway.query(PAGE, { id: other.userId, first: 1, after: cursor });
    expect(foreign.errors?.[0]?.extensions).toEqual({ code: 'INVALID_REQUEST', field: 'after' });
    const last = (await page(userId, 3)).pageInfo;
    expect(last.hasNextPage).toBe(false);
    expect((await page(userId, 3, last.endCursor)).nodes).toEqual([]);
  });

  test('goes on with nothing after the 100th row of a list that has no more', async () => {
    const rows = Array.from({ length: 100 }, () => randomUUID());
    const read = async () => ({ rows, nextPageToken: '' });
    const { pageInfo } = await readConnection({ first: 100 }, read);
    expect((await readConnection({ first: 100, after: pageInfo.endCursor }, read)).nodes).toEqual([]);
  });

  test('goes on after the first of the rows that came after the 100th', async () => {
    const rows = Array.from({ length: 100 }, (_, index) => `row ${index + 1}`);
    const before = async () => ({ rows, nextPageToken: '' });
    const { pageInfo } = await readConnection({ first: 100 }, before);
    const after = async ({ pageToken }: { pageToken: string }) =>
      pageToken === '' ? { rows, nextPageToken: 'p2' } : { rows: ['row 101', 'row 102'], nextPageToken: '' };
    const more = await readConnection({ first: 2, after: pageInfo.endCursor }, after);
    expect(more.nodes).toEqual(['row 101', 'row 102']);
    const rest = await readConnection({ first: 2, after: more.pageInfo.startCursor }, after);
    expect(rest.nodes).toEqual(['row 102']);
  });

  test('ends after its last row where it began within a page', async () => {
    const rows = ['row 1', 'row 2', 'row 3'];
    const read = async ({ pageSize }: { pageSize: number }) => ({
      rows: rows.slice(0, pageSize),
      nextPageToken: '',
    });
    const { pageInfo } = await readConnection({ first: 3 }, read);
    const rest = await readConnection({ first: 2, after: pageInfo.startCursor }, read);
    expect(rest.nodes).toEqual(['row 2', 'row 3']);
    expect((await readConnection({ first: 2, after: rest.pageInfo.endCursor }, read)).nodes).toEqual([]);
  });

  test('refuses a text to find that is too long by its argument', async () => {
    const { userId } = await learner(1);
    const text = `query ($id: ID, $query: String) { user(id: $id) { materials(query: $query) { nodes { id } } } }`;
    const { errors } = await gateway.query(text, { id: userId, query: 'x'.repeat(1025) });
    expect(errors?.[0]?.extensions).toEqual({ code: 'INVALID_REQUEST', field: 'query' });
  });
});

describe('a query', () => {
  test('answers null for what is not there, and refuses two ways or none to name a user', async () => {
    const unknown = '01900000-0000-7000-8000-000000000000';
    const { data } = await gateway.query(
      `{ a: user(id: "${unknown}") { id } b: user(id: "x") { id } c: user(email: "nobody@example.com") { id }
         d: material(userId: "${unknown}", id: "${unknown}") { id } e: material(userId: "${unknown}", id: "x") { id } }`,
    );
    expect(data).toEqual({ a: null, b: null, c: null, d: null, e: null });
    const neither = await gateway.query('{ user { id } }');
    expect(neither.errors?.[0]?.extensions).toEqual({ code: 'INVALID_REQUEST', field: 'id' });
    const both = await gateway.query(`{ user(id: "${unknown}", email: "a@example.com") { id } }`);
    expect(both.errors?.[0]?.extensions).toEqual({ code: 'INVALID_REQUEST', field: 'email' });
  });

  test('tells everything of a material, and statistics on the user’s own clock', async () => {
    const { userId, ids } = await learner(2);
    const [materialId = ''] = ids;
    await gateway.query(REVIEW, { input: { userId, materialId, quality: 2 } });
    await gateway.query(SNOOZE, {
      input: { userId, materialIds: ids, preset: 'ONE_HOUR', reason: 'later' },
    });
    const { data, errors } = await gateway.query(
      `query ($userId: ID!, $id: ID!) { material(userId: $userId, id: $id) {
        id title content sourceUrl type ef interval repetitions nextReview lastReviewed createdAt updatedAt archivedAt
        revision isDue
        reviews { nodes { quality before { ef interval } after { ef interval } material { id } } }
        snoozes { nodes { reason materialIds materials { title } } }
        previews { quality schedule { ef interval repetitions nextReview } } }
        user(id: $userId) { stats(days: 2, asOf: "2026-03-29T22:30:00Z") { forecast { days { date } } } } }`,
      { userId, id: materialId },
    );
    expect(errors).toBeUndefined();
    expect(data.material).toMatchObject({
      id: materialId,
      title: 'm0',
      content: null,
      type: 'SIMPLE',
      ef: 2.18,
      interval: 1,
      revision: 2,
      archivedAt: null,
      isDue: false,
      reviews: {
        nodes: [
          {
            quality: 2,
            before: { ef: 2.5, interval: 0 },
            after: { ef: 2.18, interval: 1 },
            material: { id: materialId },
          },
        ],
      },
      snoozes: {
        nodes: [{ reason: 'later', materialIds: ids, materials: [{ title: 'm0' }, { title: 'm1' }] }],
      },
    });
    expect(data.material.previews).toHaveLength(6);
    expect(data.material.previews[5]).toEqual({
      quality: 5,
      schedule: { ef: 2.28, interval: 1, repetitions: 1, nextReview: expect.stringMatching(/^2\d{3}-.*Z$/) },
    });
    expect(data.user.stats.forecast.days).toEqual([{ date: '2026-03-30' }, { date: '2026-03-31' }]);
    const filtered = await gateway.query(
      'query ($id: ID) { user(id: $id) { due: materials(due: true) { nodes { id } } cards: materials(type: CARD) { nodes { id } } } }',
      { id: userId },
    );
    expect(filtered.data.user).toEqual({ due: { nodes: [] }, cards: { nodes: [] } });
  });

  test('finds the reviews of a day of the user’s own or another zone, what is not due, and what was reviewed once', async () => {
    const { userId, ids } = await learner(2);
    const [reviewed = '', due] = ids;
    await gateway.query(REVIEW, { input: { userId, materialId: reviewed, quality: 4 } });
    const lists = async (selection: string) =>
      (await gateway.query(`query ($id: ID) { user(id: $id) { ${selection} } }`, { id: userId })).data.user;
    expect(
      await lists(`later: materials(due: false) { nodes { id } } now: materials(due: true) { nodes { id } }
        stats { once: hardestMaterials(minReviews: 1) { nodes { material { id } } }
          thrice: hardestMaterials { nodes { material { id } } }
          asThrice: hardestMaterials(minReviews: null) { nodes { material { id } } } }`),
    ).toEqual({
      later: { nodes: [{ id: reviewed }] },
      now: { nodes: [{ id: due }] },
      stats: {
        once: { nodes: [{ material: { id: reviewed } }] },
        thrice: { nodes: [] },
        asThrice: { nodes: [] },
      },
    });
    const { byNull } = await lists('byNull: stats(days: null) { retention { days { date } } }');
    expect(byNull.retention.days).toHaveLength(30);

    const sql = new Client({ connectionString: system.databaseUrl });
    await sql.connect();
    // In Berlin it is half past midnight.
    await sql.query(`UPDATE scheduling.reviews SET review_time = '2026-03-01 23:30Z' WHERE user_id = $1`, [
      userId,
    ]);
    await sql.end();
    const { stats } = await lists(`stats(days: 2, asOf: "2026-03-02T12:00:00Z") { retention {
      total { reviews recalled } bands { band count { reviews } } days { date count { reviews recalled retention } } } }`);
    expect(stats.retention).toMatchObject({
      total: { reviews: 1, recalled: 1 },
      days: [
        { date: '2026-03-01', count: { reviews: 0, recalled: 0, retention: null } },
        { date: '2026-03-02', count: { reviews: 1, recalled: 1, retention: 1 } },
      ],
    });
    expect(stats.retention.bands.slice(0, 2)).toEqual([
      { band: 'NEW', count: { reviews: 1 } },
      { band: 'DAYS_1_TO_6', count: { reviews: 0 } },
    ]);
    const found = { nodes: [{ materialId: reviewed }] };
    expect(
      await lists(`own: reviews(date: "2026-03-02") { nodes { materialId } }
        ownBefore: reviews(date: "2026-03-01") { nodes { materialId } }
        utc: reviews(date: "2026-03-01", timeZone: "UTC") { nodes { materialId } }`),
    ).toEqual({ own: found, ownBefore: { nodes: [] }, utc: found });
  });
});

test('long texts, and all of a review, are read only where a field names them, under whatever alias', async () => {
  const { userId, api, ids } = await learner(1);
  await api.create({ title: 'c', content: 'of c' });
  await gateway.query(REVIEW, { input: { userId, materialId: ids[0], quality: 5 } });
  const reviews = 'reviews(first: 1) { nodes { quality';
  const plain = `query ($id: ID) { user(id: $id) { materials { nodes { title ${reviews} } } } } } }`;
  const whole = `query ($id: ID) { user(id: $id) { materials { nodes { text: content ${reviews} was: before { ef } } } } } } }`;
  const seen = await gateway.requestsOf(() => gateway.query(plain, { id: userId }));
  expect(seen.flatMap(({ view }) => view ?? [])).toEqual(['MATERIAL_VIEW_BASIC', 'REVIEW_VIEW_BASIC']);
  const answer = await gateway.query(whole, { id: userId });
  expect(answer.data.user.materials.nodes).toEqual([
    { text: 'of c', reviews: { nodes: [] } },
    { text: null, reviews: { nodes: [{ quality: 5, was: { ef: 2.5 } }] } },
  ]);
  const inFragments = `query ($id: ID) { user(id: $id) { materials { nodes { reviews(first: 1) { ...page } } } } }
    fragment page on ReviewConnection { nodes { ...review quality ...review } }
    fragment review on Review { ... on Review { scheduler undoneAt } }`;
  const { data } = await gateway.query(inFragments, { id: userId });
  expect(data.user.materials.nodes[1]).toEqual({
    reviews: { nodes: [{ scheduler: 'SM2', undoneAt: null, quality: 5 }] },
  });
});

test('a mutation answers with what it has changed, whatever an earlier one has read', async () => {
  const { userId, ids } = await learner(1);
  const input = (title: string) =>
    `(input: {userId: "${userId}", materialId: "${ids[0]}", title: "${title}"})`;
  const review = `(input: {userId: "${userId}", materialId: "${ids[0]}", quality: 5})`;
  const { data } = await gateway.query(
    `mutation { a: submitReview${review} { review { material { title } } } b: updateMaterial${input('new')} { material { title } }
      c: submitReview${review} { review { material { title } } } }`,
  );
  expect(data.c.review.material.title).toBe('new');
});

test('a field of a material is the same whatever other fields the document asks for', async () => {
  const { userId, api } = await learner(2);
  const reviewed = await api.create({ title: 'r', content: 'of r' });
  await gateway.query(REVIEW, { input: { userId, materialId: reviewed.id, quality: 4 } });
  const sourceUrl = 'https://example.com/';
  await api.create({ title: 'c', content: 'of c', sourceUrl, type: 'card' });
  const names = leavesOf('Material');
  const read = async (fields: string) => {
    const lists = `materials { nodes { ${fields} } } dueMaterials { nodes { ${fields} } }
      reviews { nodes { material { ${fields} } } } stats { hardestMaterials(minReviews: 1) { nodes { material { ${fields} } } } }`;
    const answer = await gateway.query(`query ($id: ID) { user(id: $id) { ${lists} } }`, { id: userId });
    const { materials, dueMaterials, reviews, stats } = answer.data.user;
    const joined = [...reviews.nodes, ...stats.hardestMaterials.nodes].map(({ material }) => material);
    return [...materials.nodes, ...dueMaterials.nodes, ...joined] as Record<string, unknown>[];
  };
  const whole = await read(names.join(' '));
  expect(whole).toHaveLength(9);
  expect(whole[0]).toMatchObject({ type: 'CARD', content: 'of c', sourceUrl, ef: 2.5, revision: 0 });
  expect(whole.slice(7)).toEqual([whole[1], whole[1]]);
  for (const name of names) expect(await read(name)).toEqual(whole.map((each) => ({ [name]: each[name] })));
});

test('a review in a list of a material is the same whatever other fields the document asks for', async () => {
  const { userId, ids } = await learner(2);
  const review = async (quality: number): Promise<string> => {
    const input = { userId, materialId: ids[0], quality };
    return (await gateway.query(REVIEW, { input })).data.submitReview.review.id;
  };
  await review(1);
  await review(4);
  const reviewId = await review(5);
  await gateway.query(UNDO, { input: { userId, reviewId } });
  const fields = [...leavesOf('Review'), 'before { ef }', 'after { ef }'];
  const read = async (list: string): Promise<{ reviews: unknown }[]> => {
    const query = `query ($id: ID) { user(id: $id) { materials { nodes { reviews(first: 2) { ${list} } } } } }`;
    return (await gateway.query(query, { id: userId })).data.user.materials.nodes;
  };
  const PAGE = 'pageInfo { hasNextPage endCursor }';
  const whole = await read(`nodes { ${fields.join(' ')} } ${PAGE}`);
  type List = { nodes: Record<string, unknown>[]; pageInfo: object };
  const lists = whole.map(({ reviews }) => reviews as List);
  expect(lists.map(({ nodes }) => nodes.map(({ quality }) => quality))).toEqual([[], [5, 4]]);
  expect(lists[1]?.nodes.map(({ undoneBy }) => undoneBy)).toEqual(['gateway/olga', null]);
  expect(lists[1]?.pageInfo).toMatchObject({ hasNextPage: true });
  for (const field of fields) {
    const [name = ''] = field.split(' ');
    expect(await read(`nodes { ${field} }`)).toEqual(
      lists.map(({ nodes }) => ({ reviews: { nodes: nodes.map((node) => ({ [name]: node[name] })) } })),
    );
  }
  expect(await read(`nodes { quality } ${PAGE}`)).toEqual(
    lists.map(({ nodes, pageInfo }) => ({
      reviews: { nodes: nodes.map(({ quality }) => ({ quality })), pageInfo },
    })),
  );
});

test('a list of reviews has what it asks for, though another asks for less, and what no directive leaves out', async () => {
  const { userId, ids } = await learner(1);
  for (const quality of [5, 4])
    await gateway.query(REVIEW, { input: { userId, materialId: ids[0], quality } });
  const read = async (lists: string) => {
    const query = `query ($id: ID) { user(id: $id) { materials { nodes { ${lists} } } } }`;
    return (await gateway.query(query, { id: userId })).data.user.materials.nodes[0];
  };
  const { reviews } = await read('reviews { nodes { id } }');
  expect(reviews.nodes).toEqual(Array(2).fill({ id: expect.stringMatching(/^[\da-f-]{36}$/) }));
  expect(await read('last: reviews(first: 1) { nodes { quality } } reviews { nodes { id } }')).toEqual({
    last: { nodes: [{ quality: 4 }] },
    reviews,
  });
  const { page } = await read('page: reviews(first: 1) { pageInfo { endCursor } }');
  expect(
    await read(`last: reviews(first: 1) { nodes { quality } }
      next: reviews(first: 1, after: "${page.pageInfo.endCursor}") { nodes { quality } }`),
  ).toEqual({ last: { nodes: [{ quality: 4 }] }, next: { nodes: [{ quality: 5 }] } });
  for (const directive of ['@skip(if: false)', '@include(if: true)'])
    expect(await read(`reviews { nodes { id ${directive} } }`)).toEqual({ reviews });
});

test('a material has its own reviews and snoozes, and no others, with each field under its name', async () => {
  const { userId, ids } = await learner(2);
  const [materialId = '', other] = ids;
  for (const [of, quality] of [
    [materialId, 4],
    [materialId, 5],
    [other, 1],
  ])
    await gateway.query(REVIEW, { input: { userId, materialId: of, quality } });
  for (const of of [materialId, other])
    await gateway.query(SNOOZE, { input: { userId, materialIds: [of], preset: 'TOMORROW' } });
  const { reviews } = await gateway.clients.reviews.listReviews(
    { userId, materialId },
    { requestId: 'test' },
  );
  const schedule = '{ ef interval repetitions }';
  const review = `id materialId quality revision before ${schedule} after ${schedule}`;
  const lists = (of: string) => `reviews${of} { nodes { ${review} } } snoozes${of} { nodes { materialIds } }`;
  const { data } = await gateway.query(
    `query ($userId: ID!, $id: ID!) { material(userId: $userId, id: $id) { ${lists('')} }
       user(id: $userId) { ${lists('(materialId: $id)')} } }`,
    { userId, id: materialId },
  );
  const first = { ef: 2.5, interval: 1, repetitions: 1 };
  const own = {
    reviews: {
      nodes: [
        {
          id: reviews[0]?.reviewId,
          materialId,
          quality: 5,
          revision: 2,
          before: first,
          after: { ef: 2.6, interval: 6, repetitions: 2 },
        },
        {
          id: reviews[1]?.reviewId,
          materialId,
          quality: 4,
          revision: 1,
          before: { ef: 2.5, interval: 0, repetitions: 0 },
          after: first,
        },
      ],
    },
    snoozes: { nodes: [{ materialIds: [materialId] }] },
  };
  expect(data).toEqual({ material: own, user: own });
});

test('a user tells when the account was made, and when it was changed', async () => {
  const { userId } = await system.createUser();
  const sql = new Client({ connectionString: system.databaseUrl });
  await sql.connect();
  await sql.query(
    `UPDATE accounts.users SET create_time = '2026-01-02 03:04Z', update_time = '2026-02-03 04:05Z' WHERE user_id = $1`,
    [userId],
  );
  await sql.end();
  const { data } = await gateway.query(`{ user(id: "${userId}") { createdAt updatedAt } }`);
  expect(data.user).toEqual({
    createdAt: '2026-01-02T03:04:00.000Z',
    updatedAt: '2026-02-03T04:05:00.000Z',
  });
});

describe('where a service does not answer', () => {
  let failing: TestGateway;
  /** The rpc that is not answered. */
  let away = '';
  beforeAll(async () => {
    failing = await startTestGateway(system, undefined, (rpc, make) => {
      if (rpc === away) throw new ServiceError('UNAVAILABLE');
      return make();
    });
  });
  afterAll(() => failing.stop());

  test.each([
    ['batchGetMaterials', 'reviews', 'material { title }', 'material'],
    ['batchGetMaterials', 'snoozes', 'materials { title }', 'materials'],
    ['batchListReviews', 'materials', 'reviews { nodes { quality } }', 'reviews'],
  ])(
    'where %s fails, the rows of %s have an error in %s, and nothing passes for deleted',
    async (rpc, list, field, name) => {
      const { userId, ids } = await learner(1);
      await gateway.query(REVIEW, { input: { userId, materialId: ids[0], quality: 4 } });
      const input = { userId, materialIds: ids, preset: 'TOMORROW' };
      await gateway.query(SNOOZE, { input });
      away = rpc;
      const query = `query ($id: ID) { user(id: $id) { ${list} { nodes { ${field} } } } }`;
      const { errors } = await failing.query(query, { id: userId });
      expect(errors?.map(({ path, extensions }) => [path, extensions])).toEqual([
        [['user', list, 'nodes', 0, name], { code: 'UNAVAILABLE' }],
      ]);
    },
  );
});

test('every type, field, argument and value of the schema has a description', async () => {
  const { data } = await gateway.query(
    `{ __schema { types { name description fields { name description args { name description } }
       inputFields { name description } enumValues { name description } } } }`,
  );
  type Named = { name: string; description: string | null };
  type Type = Named & Record<'fields' | 'inputFields' | 'enumValues', (Named & { args?: Named[] })[] | null>;
  const missing: string[] = [];
  for (const type of data.__schema.types as Type[]) {
    if (type.name.startsWith('__')) continue;
    const members = [...(type.fields ?? []), ...(type.inputFields ?? []), ...(type.enumValues ?? [])];
    const parts = [type, ...members, ...members.flatMap(({ args = [] }) => args)];
    missing.push(
      ...parts.filter(({ description }) => !description).map(({ name }) => `${type.name}.${name}`),
    );
  }
  expect(missing).toEqual([]);
});

describe('API keys', () => {
  const FIELDS = 'id name prefix scopes createdAt lastUsedAt revokedAt lastRefusedAt refusedMinutes';
  const INSTANT = expect.stringMatching(/^2\d{3}-.*T.*Z$/);
  const send = (key: string) =>
    system.accounts.apiKeys.verifyApiKey({ key }, { requestId: 'test' }).then(
      () => 200,
      () => 401,
    );

  test('are listed newest first, with what is known of each and what is not', async () => {
    const { userId, apiKeyId, key } = await system.createUser(['reviews:read']);
    const { apiKey } = await system.accounts.apiKeys.createApiKey(
      { userId, name: 'phone' },
      { requestId: 'test' },
    );
    const keys = async () =>
      (await gateway.query(`{ user(id: "${userId}") { apiKeys { nodes { ${FIELDS} } } } }`)).data.user.apiKeys
        .nodes;
    expect(await keys()).toEqual([
      {
        id: apiKey?.apiKeyId,
        name: 'phone',
        prefix: apiKey?.keyPrefix,
        createdAt: INSTANT,
        scopes: ['materials:read', 'reviews:read', 'profile:read'],
        lastUsedAt: null,
        revokedAt: null,
        lastRefusedAt: null,
        refusedMinutes: 0,
      },
      {
        id: apiKeyId,
        name: expect.any(String),
        prefix: key.slice(0, 17),
        createdAt: INSTANT,
        scopes: ['reviews:read'],
        lastUsedAt: null,
        revokedAt: null,
        lastRefusedAt: null,
        refusedMinutes: 0,
      },
    ]);
    const sql = new Client({ connectionString: system.databaseUrl });
    await sql.connect();
    // As of a key that was made before prefixes were kept.
    await sql.query(`UPDATE accounts.api_keys SET key_prefix = NULL WHERE api_key_id = $1`, [apiKeyId]);
    await sql.end();
    expect((await keys())[1]).toMatchObject({ id: apiKeyId, prefix: null });
    expect(await send(key)).toBe(200);
    await expect.poll(async () => (await keys())[1]).toMatchObject({ lastUsedAt: INSTANT, revokedAt: null });
    await system.accounts.apiKeys.revokeApiKey({ apiKeyId }, { requestId: 'test' });
    expect((await keys())[1]).toMatchObject({ revokedAt: INSTANT, lastRefusedAt: null });
    expect(await send(key)).toBe(401);
    await expect
      .poll(async () => (await keys())[1])
      .toMatchObject({
        lastRefusedAt: INSTANT,
        refusedMinutes: 1,
      });
  });

  test('that are sent though they are revoked are listed with their users, and counted', async () => {
    const users = [await system.createUser(), await system.createUser()];
    for (const { apiKeyId, key } of users) {
      await system.accounts.apiKeys.revokeApiKey({ apiKeyId }, { requestId: 'test' });
      await send(key);
    }
    const page = async (rest: string) =>
      (
        await gateway.query(
          `{ refusedApiKeys(${rest}) { totalCount nodes { apiKey { id refusedMinutes } user { id } } pageInfo { endCursor } } }`,
        )
      ).data.refusedApiKeys;
    const ours = (node: { user: { id: string } }) => users.some(({ userId }) => userId === node.user.id);
    await expect.poll(async () => (await page('first: 100')).nodes.filter(ours).length).toBe(2);
    const all = await page('first: 100');
    expect(all.nodes.filter(ours)).toEqual(
      expect.arrayContaining(
        users.map(({ userId, apiKeyId }) => ({
          apiKey: { id: apiKeyId, refusedMinutes: 1 },
          user: { id: userId },
        })),
      ),
    );
    const first = await page('first: 1');
    const rest = await page(`first: 100, after: "${first.pageInfo.endCursor}"`);
    expect([first.totalCount, rest.totalCount]).toEqual([all.totalCount, all.totalCount]);
    expect([...first.nodes, ...rest.nodes]).toEqual(all.nodes);
  });
});

let system: Given<'system'>['system'];
let gateway: TestGateway;

function takeServices({ system: shared, gateway: own }: Given<'system' | 'gateway'>): void {
  system = shared;
  gateway = own;
}

const CALL = { requestId: 'test' };
const REVIEW = 'mutation ($input: SubmitReviewInput!) { submitReview(input: $input) { review { id } } }';
const UNDO = 'mutation ($input: UndoReviewInput!) { undoReview(input: $input) { review { id } } }';
const SNOOZE =
  'mutation ($input: SnoozeMaterialsInput!) { snoozeMaterials(input: $input) { snooze { id } } }';

/** The fields of a type of the schema that have no fields of their own. */
function leavesOf(type: string): string[] {
  const found = buildGatewaySchema().getType(type);
  if (!isObjectType(found)) throw new Error(`${type} is no object type`);
  return Object.values(found.getFields()).flatMap((field) =>
    isLeafType(getNamedType(field.type)) ? [field.name] : [],
  );
}

async function learner(materials: number) {
  const { userId, key } = await system.createUser(undefined, 'Europe/Berlin');
  const api = createApi(`${system.origins[0]}/v1`, key);
  const ids: string[] = [];
  for (let index = 0; index < materials; index += 1) {
    const { material } = await gateway.clients.materials.createMaterial({ userId, title: `m${index}` }, CALL);
    ids.push(material?.materialId ?? '');
  }
  return { userId, key, api, ids };
}
