// Rows of every kind that is listed, of which three share one millisecond and two the next.
import { Client } from 'pg';
import { toTimestamp } from '../../services/platform/instants.ts';
import { material, review, storeFacts } from '../scheduling/stats-facts.ts';
import { CALL, newUserId, startTestScheduling, type TestScheduling } from '../support/scheduling.ts';
import { ALL_SCOPES, startSystem, type TestSystem } from '../support/system.ts';

export const EARLIER = '2030-01-01T00:00:00Z';
export const LATER = '2030-01-01T00:00:00.001Z';
export const NOW = '2030-01-01T00:00:01Z';
export const at = (time: string) => toTimestamp(new Date(time));
/** Too long to be looked for among the newest rows: the index is asked. */
export const LONG_QUERY = 'quokka '.repeat(40).trim();
export const [owner, learner, reviewer, struggler] = [newUserId(), newUserId(), newUserId(), newUserId()];

/** Ids, of each millisecond in the order in which they were made. */
export type Rows = { earlier: string[]; later: string[] };
export type TwinRows = Awaited<ReturnType<typeof startTwinRows>>;

/** Scheduling, its clock at NOW, and accounts, with the rows. */
export async function startTwinRows() {
  const [here, system] = await Promise.all([startTestScheduling(), startSystem({ facades: 0 })]);
  const five = createFive(here);
  const rows = {
    ...(await fillMaterials(here, five)),
    ...(await fillHistory(here, five)),
    ...(await fillAccounts(system, five)),
  };
  return {
    here,
    accounts: system.accounts,
    events: system.events,
    rows,
    async stop() {
      await here.stop();
      await system.stop();
    },
  };
}

type Five = (make: (time: string) => Promise<string>) => Promise<Rows>;

function createFive(here: TestScheduling): Five {
  return async (make) => {
    const rows: Rows = { earlier: [], later: [] };
    for (const time of [EARLIER, EARLIER, EARLIER, LATER, LATER]) {
      here.setClock(time);
      rows[time === EARLIER ? 'earlier' : 'later'].push(await make(time));
    }
    here.setClock(NOW);
    return rows;
  };
}

async function fillMaterials(here: TestScheduling, five: Five) {
  const create = async (fields: object) => {
    const answer = await here.materials.createMaterial({ userId: owner, title: 'T', ...fields }, CALL);
    return answer.material?.materialId ?? '';
  };
  const titles = await five(() => create({ title: 'A quokka' }));
  const others = await five(() => create({ content: LONG_QUERY, type: 'MATERIAL_TYPE_CARD' }));
  const archived = await five(async () => {
    const materialId = await create({});
    await here.materials.archiveMaterial({ userId: owner, materialId }, CALL);
    return materialId;
  });
  const due = await five(() => here.create(learner));
  const dueAtOnce = [await here.create(learner), await here.create(learner), await here.create(learner)];
  const noInstant = 'UPDATE scheduling.materials SET next_review_time = NULL WHERE material_id = ANY($1)';
  await here.sql.query(noInstant, [dueAtOnce]);
  return { titles, others, archived, due, dueAtOnce };
}

async function fillHistory(here: TestScheduling, five: Five) {
  const reviewedId = await here.create(reviewer);
  const reviews = await five(async () => {
    const request = { userId: reviewer, materialId: reviewedId, quality: 5 };
    const answer = await here.reviews.submitReview(request, CALL);
    return answer.review?.reviewId ?? '';
  });
  const snoozes = await five(async () => {
    const tonight = { preset: 'SNOOZE_PRESET_TONIGHT', timeZone: 'UTC' } as const;
    const request = { userId: reviewer, materialIds: [reviewedId], ...tonight };
    const answer = await here.snoozes.snoozeMaterials(request, CALL);
    return answer.snooze?.snoozeId ?? '';
  });
  // Every other time recalled.
  const twice = [material(), material(), material()];
  const fourTimes = [material(), material(), material()];
  const graded = (qualities: number[]) => (of: (typeof twice)[number]) =>
    qualities.map((quality) => review(of, EARLIER, quality));
  await storeFacts(here.sql, struggler, {
    materials: [...twice, ...fourTimes],
    reviews: [...twice.flatMap(graded([2, 3])), ...fourTimes.flatMap(graded([0, 5, 1, 4]))],
  });
  const idsOf = (facts: typeof twice) => facts.map(({ materialId }) => materialId);
  return { reviewedId, reviews, snoozes, reviewedTwice: idsOf(twice), reviewedFourTimes: idsOf(fourTimes) };
}

async function fillAccounts(system: TestSystem, five: Five) {
  const sql = new Client({ connectionString: system.databaseUrl });
  await sql.connect();
  const users = await five(async (time) => {
    const { userId } = await system.createUser();
    const set = 'UPDATE accounts.users SET create_time = $2, update_time = $2 WHERE user_id = $1';
    await sql.query(set, [userId, time]);
    return userId;
  });
  // Stored in another order than that of their IDs.
  const [first, second, third] = users.earlier;
  for (const userId of [second, first, third])
    await sql.query('UPDATE accounts.users SET plan = plan WHERE user_id = $1', [userId]);
  const keyOwnerId = users.later[0] ?? '';
  await sql.query('DELETE FROM accounts.api_keys');
  const keys = await five(async (time) => {
    const { apiKeyId } = await system.createKey(keyOwnerId, ALL_SCOPES);
    const set = 'UPDATE accounts.api_keys SET create_time = $2, last_refused_time = $2 WHERE api_key_id = $1';
    await sql.query(set, [apiKeyId, time]);
    return apiKeyId;
  });
  await sql.end();
  return { users, keys, keyOwnerId };
}
