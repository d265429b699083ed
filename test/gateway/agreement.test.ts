// REST and GraphQL over the same services: SEQUENCES sequences of random operations, 10 by default, 2,000 in full
// (SEQUENCES=2000 npm test -- test/gateway/agreement.test.ts).
import { expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { type Api, createApi } from '../support/api.ts';
import { untilAnswered } from '../support/gateway.ts';

const SEQUENCES = Number(process.env.SEQUENCES ?? 10);
const STEPS = 6;

test.beforeAll(takeServices);

test(`REST and GraphQL give the same answers over ${SEQUENCES} random sequences of ${STEPS} operations`, async () => {
  const seeds = Array.from({ length: SEQUENCES }, (_, index) => index + 1);
  const worker = async () => {
    for (let seed = seeds.pop(); seed !== undefined; seed = seeds.pop()) {
      const pick = numbers(seed * 7919);
      const { userId, key } = await system.createUser();
      const learner: Learner = {
        userId,
        api: createApi(`${system.origins[0]}/v1`, key, { mayBeUnavailable: true }),
        ids: [],
      };
      for (let step = 0; step < STEPS; step += 1) {
        await write(learner, pick);
        await expectAgreement(learner, pick);
      }
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}, 600_000);

let system: Given<'system'>['system'];
let gateway: Given<'gateway'>['gateway'];

function takeServices({ system: shared, gateway: own }: Given<'system' | 'gateway'>): void {
  system = shared;
  gateway = own;
}

const FIELDS =
  'id title content sourceUrl type ef interval repetitions nextReview lastReviewed createdAt updatedAt';
const TEXTS = ['Ohm’s law', 'Ünicode %', 'back\\slash_', 'plain', '😀 face', ''];

/** Numbers from a seed, so that a failure can be had again. */
function numbers(seed: number) {
  let state = seed;
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** What a GraphQL answer says, in the words of REST. */
function spoken(material: { type: string } | undefined): unknown {
  return material && { ...material, type: material.type.toLowerCase() };
}

async function overGraphql(name: string, type: string, input: object): Promise<Outcome> {
  const answer = await gateway.query(
    `mutation ($input: ${type}!) { ${name}(input: $input) { material { ${FIELDS} } } }`,
    { input },
  );
  const error = answer.errors?.[0]?.extensions;
  if (error !== undefined)
    return { error: [error.code.toLowerCase(), error.field].filter(Boolean).join(' ') };
  return { material: spoken(answer.data[name].material) };
}

async function overRest(api: Api, path: string, json: object): Promise<Outcome> {
  const { body } = await api.post(path, json);
  const { material, error } = body as {
    material?: unknown;
    error?: { code: string; details?: { field: string } };
  };
  return error ? { error: [error.code, error.details?.field].filter(Boolean).join(' ') } : { material };
}

async function write({ userId, api, ids }: Learner, pick: (below: number) => number): Promise<void> {
  const useRest = pick(2) === 0;
  const materialId = ids[pick(ids.length + 1)] ?? '01900000-0000-7000-8000-000000000000';
  let outcome: Outcome;
  if (pick(2) === 0 || ids.length === 0) {
    const text = { title: TEXTS[pick(6)], ...(pick(2) === 0 && { content: TEXTS[pick(6)] }) };
    const type = ['simple', 'material', 'flashcard', 'card'][pick(4)] ?? 'simple';
    outcome = useRest
      ? await overRest(api, '/materials', { ...text, type })
      : await overGraphql('createMaterial', 'CreateMaterialInput', {
          userId,
          ...text,
          type: type.toUpperCase(),
        });
    if (isLate(outcome)) return;
    expect(outcome.error ?? 'none').toBe(text.title === '' ? 'invalid_request title' : 'none');
    if (outcome.material) ids.push((outcome.material as { id: string }).id);
    return;
  }
  if (pick(4) === 0) return takeBack({ userId, materialId });
  const quality = pick(7);
  outcome = useRest
    ? await overRest(api, `/reviews/${materialId}`, { quality })
    : await overGraphql('submitReview', 'SubmitReviewInput', { userId, materialId, quality });
  if (isLate(outcome)) return;
  const expected = quality > 5 ? 'invalid_request quality' : ids.includes(materialId) ? 'none' : 'not_found';
  expect(outcome.error ?? 'none').toBe(expected);
}

/** What v1 cannot do, but shows: the latest review is undone, and what is due is spread, over GraphQL. */
async function takeBack({ userId, materialId }: { userId: string; materialId: string }): Promise<void> {
  const { data } = await gateway.query(
    'query ($userId: ID!, $id: ID!) { material(userId: $userId, id: $id) { reviews(first: 50) { nodes { id undoneAt } } } }',
    { userId, id: materialId },
  );
  const latest = data?.material?.reviews.nodes.find(
    ({ undoneAt }: { undoneAt: unknown }) => undoneAt === null,
  );
  if (latest !== undefined) {
    const input = { userId, reviewId: latest.id };
    const outcome = await overGraphql('undoReview', 'UndoReviewInput', input);
    if (!isLate(outcome)) expect(outcome.error ?? 'none').toBe('none');
  }
  const mutation = 'mutation ($input: SpreadBacklogInput!) { spreadBacklog(input: $input) { left } }';
  const { errors } = await gateway.query(mutation, { input: { userId, days: 2, perDay: 1 } });
  expect(errors?.[0]?.extensions.code ?? 'UNAVAILABLE').toBe('UNAVAILABLE');
}

async function expectAgreement({ userId, api }: Learner, pick: (below: number) => number): Promise<void> {
  const limit = 1 + pick(5);
  const q = [...(TEXTS[pick(6)] ?? '')].slice(0, 3).join('').toUpperCase();
  const askRest = () =>
    Promise.all([
      api.get(`/materials?limit=${limit}`),
      api.get(`/reviews/due?limit=${limit}`),
      api.get(`/materials?q=${encodeURIComponent(q)}`),
    ]);
  let answers = await askRest();
  while (answers.some(({ status }) => status === 503)) answers = await askRest();
  const [all, due, found] = answers;
  const askGraphql = () =>
    gateway.query(
      `query ($id: ID, $first: Int, $query: String) { user(id: $id) {
         all: materials(first: $first) { nodes { ${FIELDS} } }
         due: dueMaterials(first: $first) { nodes { ${FIELDS} } }
         found: materials(query: $query) { nodes { ${FIELDS} } } } }`,
      { id: userId, first: limit, query: q },
    );
  const { data } = await untilAnswered(askGraphql);
  for (const [list, answer] of [
    ['all', all],
    ['due', due],
    ['found', found],
  ] as const) {
    expect({ materials: data.user[list].nodes.map(spoken) }, list).toEqual(answer.body);
  }
}

type Learner = { userId: string; api: Api; ids: string[] };

type Outcome = { material?: unknown; error?: string };

/** Not answered in time, on a busy machine. Whether it was done, REST and GraphQL have to tell alike. */
const isLate = ({ error }: Outcome): boolean => error === 'unavailable';
