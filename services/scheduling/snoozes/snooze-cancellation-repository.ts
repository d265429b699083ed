// The SQL that ends a snooze early, in the caller's transaction.
import type { Queryable } from '../../platform/postgres/database.ts';
import { IS_CANCELLABLE } from './snooze-sql.ts';

const FIND = `
  SELECT s.snooze_until_time AS "snoozeUntilTime", ARRAY(
    SELECT p.material_id FROM scheduling.snoozed_materials p WHERE p.user_id = $1 AND p.snooze_id = $2) AS "materialIds"
  FROM scheduling.snoozes s WHERE s.user_id = $1 AND s.snooze_id = $2`;

const LIST_CANCELLABLE = `
  SELECT p.material_id AS "materialId", p.before_next_review_time AS "nextReviewTime"
  FROM scheduling.snoozed_materials p
  WHERE p.user_id = $1 AND p.snooze_id = $2 AND ${IS_CANCELLABLE}
  ORDER BY p.position`;

const PUT_BACK = `
  UPDATE scheduling.materials m
  SET next_review_time = c.next_review_time, revision = c.revision, update_time = $2
  FROM unnest($3::uuid[], $4::timestamptz[], $5::int[]) AS c (material_id, next_review_time, revision)
  WHERE m.user_id = $1 AND m.material_id = c.material_id`;

const CANCEL_FOR_MATERIALS = `
  UPDATE scheduling.snoozed_materials p SET cancel_revision = c.revision
  FROM unnest($3::uuid[], $4::int[]) AS c (material_id, revision)
  WHERE p.user_id = $1 AND p.snooze_id = $2 AND p.material_id = c.material_id`;

const CANCEL = `
  UPDATE scheduling.snoozes SET cancel_time = coalesce(cancel_time, $3) WHERE user_id = $1 AND snooze_id = $2`;

type FoundSnooze = { snoozeUntilTime: Date; materialIds: string[] };

/** undefined if the user has no such snooze. */
export async function findSnooze(
  db: Queryable,
  userId: string,
  snoozeId: string,
): Promise<FoundSnooze | undefined> {
  const [snooze] = await db.query<FoundSnooze>({ text: FIND, values: [userId, snoozeId] });
  return snooze;
}

/** A material of a snooze, and the time that it had before. */
type WaitingMaterial = { materialId: string; nextReviewTime: Date | null };

/** The materials of a snooze that were neither reviewed nor snoozed since. */
export async function listCancellable(
  transaction: Queryable,
  userId: string,
  snoozeId: string,
): Promise<WaitingMaterial[]> {
  return transaction.query<WaitingMaterial>({ text: LIST_CANCELLABLE, values: [userId, snoozeId] });
}

/** `revision` is the material's after the cancellation. */
type ReturnedMaterial = WaitingMaterial & { revision: number };

/** Gives locked materials of a snooze back their times, at least one. */
export async function cancelSnooze(
  transaction: Queryable,
  { userId, snoozeId, cancelTime }: { userId: string; snoozeId: string; cancelTime: Date },
  materials: readonly ReturnedMaterial[],
): Promise<void> {
  const materialIds = materials.map(({ materialId }) => materialId);
  const times = materials.map(({ nextReviewTime }) => nextReviewTime);
  const revisions = materials.map(({ revision }) => revision);
  const run = (text: string, values: readonly unknown[]) =>
    transaction.query({ text, values: [userId, ...values] });
  await run(PUT_BACK, [cancelTime, materialIds, times, revisions]);
  await run(CANCEL_FOR_MATERIALS, [snoozeId, materialIds, revisions]);
  await run(CANCEL, [snoozeId, cancelTime]);
}
