// Statistics of one learner over several windows in one request: all as of the same instant.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApi } from '../support/api.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startSystem, type TestSystem } from '../support/system.ts';

beforeAll(startAll);
afterAll(stopAll);

test('a review between them counts in none', async () => {
  const { userId, key } = await system.createUser();
  const api = createApi(`${system.origins[0]}/v1`, key);
  const { id } = await api.create({ title: 'T' });
  await api.post(`/reviews/${id}`, { quality: 4 });
  between = () => api.post(`/reviews/${id}`, { quality: 4 });
  const retention = 'retention { total { reviews } }';
  const query = `query ($id: ID) { user(id: $id) {
    window: stats(days: 30) { ${retention} } both: stats(days: 60) { ${retention} } year: stats(days: 365) { ${retention} }
  } }`;
  const { user } = (await gateway.query(query, { id: userId })).data;
  const counted = [user.window, user.both, user.year].map((stats) => stats.retention.total.reviews);
  expect(counted).toEqual([1, 1, 1]);
  const later = (await gateway.query(query, { id: userId })).data.user;
  expect(later.window.retention.total.reviews).toBe(2);
});

test('figures of materials and reviews stand under their own steps, bands and grades', async () => {
  const { userId, key } = await system.createUser();
  const api = createApi(`${system.origins[0]}/v1`, key);
  const [{ id }] = [
    await api.create({ title: 'T' }),
    await api.create({ title: 'U' }),
    await api.create({ title: 'V' }),
  ];
  for (const quality of [5, 5, 4]) await api.post(`/reviews/${id}`, { quality });
  const { data } = await gateway.query(
    `query ($id: ID) { user(id: $id) { stats {
       distributions { easeFactors { ef count } intervals { band count } grades { quality count } }
       hardestMaterials { nodes { material { id } count { reviews recalled retention } } } } } }`,
    { id: userId },
  );
  expect(data.user.stats).toEqual({
    distributions: {
      easeFactors: [
        { ef: 2.5, count: 2 },
        { ef: 2.6, count: 0 },
        { ef: 2.7, count: 1 },
      ],
      intervals: [
        { band: 'NEW', count: 2 },
        { band: 'DAYS_1_TO_6', count: 0 },
        { band: 'DAYS_7_TO_20', count: 1 },
        { band: 'DAYS_21_TO_89', count: 0 },
        { band: 'DAYS_90_AND_MORE', count: 0 },
      ],
      grades: [0, 0, 0, 0, 1, 2].map((count, quality) => ({ quality, count })),
    },
    hardestMaterials: {
      nodes: [{ material: { id }, count: { reviews: 3, recalled: 3, retention: 1 } }],
    },
  });
});

test('the hardest materials are read page by page, as of the first page', async () => {
  const { userId, key } = await system.createUser();
  const api = createApi(`${system.origins[0]}/v1`, key);
  const ids: string[] = [];
  for (const quality of [0, 5]) {
    const { id } = await api.create({ title: 'T' });
    await api.post(`/reviews/${id}`, { quality });
    ids.push(id);
  }
  const query = `query ($id: ID, $after: String) { user(id: $id) { stats {
    hardestMaterials(minReviews: 1, first: 1, after: $after) { nodes { material { id } count { reviews } } pageInfo { endCursor } } } } }`;
  const page = async (after?: string) =>
    (await gateway.query(query, { id: userId, after })).data.user.stats.hardestMaterials;
  const first = await page();
  await api.post(`/reviews/${ids[1]}`, { quality: 0 });
  const second = await page(first.pageInfo.endCursor);
  expect([...first.nodes, ...second.nodes]).toEqual(
    ids.map((id) => ({ material: { id }, count: { reviews: 1 } })),
  );
});

test('how well recall is predicted, and how likely a material is to be recalled', async () => {
  const { userId, key } = await system.createUser();
  const api = createApi(`${system.origins[0]}/v1`, key);
  const [{ id }, { id: unseen }] = [await api.create({ title: 'T' }), await api.create({ title: 'U' })];
  await api.post(`/reviews/${id}`, { quality: 4 });
  const { data } = await gateway.query(
    `query ($id: ID!) { user(id: $id) {
       materials { nodes { id recall later: recall(at: "2100-01-01T00:00:00Z") before: recall(at: "2000-01-01T00:00:00Z") } }
       stats { prediction { reviews scores { predictor logLoss auc bins { reviews } } best recallNow { materials recalled }
         recallWhenSm2Asks trainedAt } } } }`,
    { id: userId },
  );
  expect(data.user.materials.nodes).toEqual([
    { id: unseen, recall: null, later: null, before: null },
    { id, recall: 1, later: expect.closeTo(0.24, 1), before: null },
  ]);
  expect(data.user.stats.prediction).toEqual({
    reviews: 0,
    scores: [],
    best: null,
    recallNow: { materials: 1, recalled: 1 },
    recallWhenSm2Asks: null,
    trainedAt: null,
  });
});

let system: TestSystem;
let gateway: TestGateway;
/** What happens between the first statistic that is asked for and the others. */
let between: (() => Promise<unknown>) | undefined;

async function startAll(): Promise<void> {
  let first: Promise<unknown> | undefined;
  system = await startSystem();
  gateway = await startTestGateway(system, undefined, async (rpc, make) => {
    if (rpc !== 'getRetention' || between === undefined) return make();
    if (first === undefined) {
      first = Promise.resolve(make()).finally(between);
      return first;
    }
    await first;
    return make();
  });
}

async function stopAll(): Promise<void> {
  await gateway.stop();
  await system.stop();
}
