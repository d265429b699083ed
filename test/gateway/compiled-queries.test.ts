import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApi } from '../support/api.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startSystem, type TestSystem } from '../support/system.ts';

let system: TestSystem;
let gateway: TestGateway;
let userId: string;
let materialId: string;
beforeAll(async () => {
  system = await startSystem();
  gateway = await startTestGateway(system);
  const created = await system.createUser(undefined, 'Europe/Berlin');
  userId = created.userId;
  const api = createApi(`${system.origins[0]}/v1`, created.key);
  for (const title of ['a', 'b', 'c']) materialId = (await api.create({ title, content: `of ${title}` })).id;
  const review = 'mutation ($input: SubmitReviewInput!) { submitReview(input: $input) { review { id } } }';
  for (const quality of [1, 5]) await gateway.query(review, { input: { userId, materialId, quality } });
});
afterAll(async () => {
  await gateway.stop();
  await system.stop();
});

const NODES =
  'nodes { id title ...texts reviews(first: 1) { edges { cursor node { quality after { ef nextReview } } } } }';
const QUERIES: Record<string, { query: string; variables?: () => object }> = {
  'a page with fragments, cursors and aliases': {
    query: `query ($id: ID) { user(id: $id) { mail: email ... on User { timeZone } rows: materials(first: 2) {
      ${NODES} pageInfo { hasNextPage endCursor } } } } fragment texts on Material { body: content sourceUrl type }`,
    variables: () => ({ id: userId }),
  },
  'fields that are skipped, one by one': {
    query: `query ($id: ID, $yes: Boolean = true, $no: Boolean!) { user(id: $id) { id @skip(if: $yes) email @include(if: $no)
      plan @include(if: $yes) ...zone @skip(if: $no) ... @include(if: $no) { createdAt } } }
      fragment zone on User { timeZone @include(if: $yes) }`,
    variables: () => ({ id: userId, no: false }),
  },
  'errors beside data, with their places': {
    query: `query ($id: ID!, $first: Int) { good: user(id: $id) { id } none: user(id: "x") { id } both: user(id: $id, email: "a@b.c") { id }
      user(id: $id) { materials(first: $first) { nodes { id } } } }`,
    variables: () => ({ id: userId, first: 101 }),
  },
  'an error in a field that may not be null': {
    query:
      'query ($id: ID!) { user(id: $id) { email stats(timeZone: "Nowhere") { forecast { days { date } } } } }',
    variables: () => ({ id: userId }),
  },
  'a variable of the wrong kind': {
    query: 'query ($id: ID!, $first: Int) { user(id: $id) { materials(first: $first) { nodes { id } } } }',
    variables: () => ({ id: userId, first: 'ten' }),
  },
  'a variable that is missing': { query: 'query ($id: ID!) { user(id: $id) { id } }' },
  'types and names': {
    query: '{ __typename caller { __typename name role } __type(name: "Review") { fields { name } } }',
  },
  'one material with all that hangs on it': {
    query: `query ($userId: ID!, $id: ID!) { material(userId: $userId, id: $id) { content isDue previews { quality schedule { ef } }
      reviews { nodes { before { ef } material { title reviews(first: 1) { nodes { quality } } } } } } }`,
    variables: () => ({ userId, id: materialId }),
  },
};

test.each(Object.entries(QUERIES))(
  'a query that comes again answers to the byte what it answered at first: %s',
  async (_name, { query, variables = () => ({}) }) => {
    const ask = async () => {
      const { headers: _, ...answer } = await gateway.query(query, variables());
      return JSON.stringify(answer);
    };
    const first = await ask();
    expect(first).toMatch(/"status":(200|400)/);
    for (let time = 0; time < 3; time += 1) expect(await ask()).toBe(first);
  },
);

test('a compiled query reads long texts and schedules only where a field names them, under whatever alias', async () => {
  const reviews = 'reviews(first: 1) { nodes { quality';
  const plain = `query ($id: ID) { user(id: $id) { materials { nodes { title ${reviews} } } } } } }`;
  const whole = `query ($id: ID) { user(id: $id) { materials { nodes { text: content ${reviews} was: before { ef } } } } } } }`;
  for (let time = 0; time < 3; time += 1) {
    const seen = await gateway.requestsOf(() => gateway.query(plain, { id: userId }));
    expect(seen.flatMap(({ view }) => view ?? [])).toEqual(['MATERIAL_VIEW_BASIC', 'REVIEW_VIEW_BASIC']);
    const answer = await gateway.query(whole, { id: userId });
    expect(answer.data.user.materials.nodes[0]).toEqual({
      text: 'of c',
      reviews: { nodes: [{ quality: 5, was: { ef: 1.96 } }] },
    });
  }
});
