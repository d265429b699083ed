// Learners with materials, reviews, snoozes and keys, made over the gateway, for tests that ask for all of it.
import { countLearnersNow } from './count-learners.ts';
import type { TestGateway } from './gateway.ts';
import type { TestSystem } from './system.ts';

export type Learner = { userId: string; email: string; materialIds: string[] };

type Rig = { system: TestSystem; gateway: TestGateway };

/** One with little, one with more, one with pages of it. */
export async function createLearners(rig: Rig): Promise<Learner[]> {
  const learners: Learner[] = [];
  for (const size of [2, 7, 23]) {
    const rows = { materials: size, reviews: 2 * size, snoozes: Math.ceil(size / 2), keys: 1 + size };
    learners.push(await createLearner(rig, rows));
  }
  await countLearnersNow(rig.system.databaseUrl);
  return learners;
}

/** Every other material has a content; they are reviewed by turns, and fewer and fewer of them put off together. */
async function createLearner(
  { system, gateway }: Rig,
  {
    materials,
    reviews,
    snoozes,
    keys,
  }: { materials: number; reviews: number; snoozes: number; keys: number },
): Promise<Learner> {
  const { userId } = await system.createUser(undefined, 'Europe/Berlin');
  const run = async (query: string, input: object) => {
    const { data, errors } = await gateway.query(query, { input: { userId, ...input } });
    if (errors !== undefined) throw new Error(JSON.stringify(errors));
    return data;
  };
  const materialIds: string[] = [];
  for (let index = 0; index < materials; index += 1) {
    const { made } = await run(CREATE, {
      title: `m${index}`,
      ...(index % 2 === 0 && { content: `of m${index}` }),
    });
    materialIds.push(made.material.id);
  }
  for (let index = 0; index < reviews; index += 1) {
    await run(REVIEW, { materialId: materialIds[index % materialIds.length], quality: index % 6 });
  }
  for (let index = 0; index < snoozes; index += 1) {
    await run(SNOOZE, { materialIds: materialIds.slice(index), preset: 'TOMORROW', reason: `r${index}` });
  }
  // The system has made one.
  for (let index = 1; index < keys; index += 1) await system.createKey(userId, ['materials:read']);
  const { data } = await gateway.query(`{ user(id: "${userId}") { email } }`);
  return { userId, email: data.user.email, materialIds };
}

const CREATE =
  'mutation ($input: CreateMaterialInput!) { made: createMaterial(input: $input) { material { id } } }';
const REVIEW =
  'mutation ($input: SubmitReviewInput!) { made: submitReview(input: $input) { review { id } } }';
const SNOOZE =
  'mutation ($input: SnoozeMaterialsInput!) { made: snoozeMaterials(input: $input) { snooze { id } } }';
