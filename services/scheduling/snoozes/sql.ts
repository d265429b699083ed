// The SQL of snoozes: postpones the materials and records it; lists; and ends a snooze early, in the caller's transaction.
import type { Queryable } from '../../platform/postgres/database.ts';
import { insertRows } from '../../platform/postgres/insert.ts';
import { MAX_UUID } from '../../platform/uuid.ts';
import { DUE_TIME, IS_CANCELLABLE, MAX_REVISION, SNOOZE_COLUMNS } from '../rows.ts';
import type { ListedSnooze, Snooze, SnoozedMaterial } from './rules.ts';
import type { SpreadOrder } from './spread.ts';

/** Sets the next review times of a user's locked materials. */
const MOVE = `
  UPDATE scheduling.materials m
  SET next_review_time = moved.next_review_time, revision = moved.revision, update_time = $2
  FROM unnest($3::uuid[], $4::timestamptz[], $5::int[]) AS moved (material_id, next_review_time, revision)
  WHERE m.user_id = $1 AND m.material_id = moved.material_id`;

/** Records a snooze of locked materials, in the given order. */
export async function insertSnooze(
  transaction: Queryable,
  userId: string,
  snooze: Snooze,
  materials: readonly SnoozedMaterial[],
): Promise<void> {
  const { snoozeId, snoozeUntilTime, reason, createTime, actor, requestId, apiKeyId, spreadDays } = snooze;
  const row = { userId, snoozeId, snoozeUntilTime, reason, createTime, actor, xRequestId: requestId };
  await insertRows(transaction, 'scheduling.snoozes', [{ ...row, apiKeyId, spreadDays }]);
  await transaction.query({
    name: 'postpone-materials',
    text: MOVE,
    values: [
      userId,
      createTime,
      materials.map((material) => material.materialId),
      materials.map((material) => material.afterNextReviewTime),
      materials.map((material) => material.revision),
    ],
  });
  const rows = materials.map((material, index) => ({ userId, snoozeId, position: index + 1, ...material }));
  await insertRows(transaction, 'scheduling.snoozed_materials', rows);
}

const IS_DUE = `m.user_id = $1 AND m.archive_time IS NULL AND ${DUE_TIME} <= $2`;
const OLDEST_FIRST = `${DUE_TIME}, m.material_id`;
const BACKLOG_ORDER = {
  oldest: OLDEST_FIRST,
  hardest: `m.ease_factor_hundredths, ${OLDEST_FIRST}`,
};
const BACKLOG = (order: SpreadOrder) => `
  SELECT m.material_id AS "materialId" FROM scheduling.materials m WHERE ${IS_DUE}
  ORDER BY ${BACKLOG_ORDER[order]} LIMIT $3`;

/** Later today is 0, the day that begins with the first of `$3` is 1, and so on. */
const COUNT_SCHEDULED = `
  SELECT width_bucket(m.next_review_time, $3::timestamptz[]) AS day, count(*) AS count
  FROM scheduling.materials m
  WHERE m.user_id = $1 AND m.archive_time IS NULL AND m.next_review_time > $2 AND m.next_review_time < $4
  GROUP BY 1`;

/** The first `limit` materials that are due at `now`, in that order. */
export async function listBacklog(
  db: Queryable,
  userId: string,
  { order, now, limit }: { order: SpreadOrder; now: Date; limit: number },
): Promise<string[]> {
  const rows = await db.query<{ materialId: string }>({
    name: `list-backlog-${order}`,
    text: BACKLOG(order),
    values: [userId, now, limit],
  });
  return rows.map(({ materialId }) => materialId);
}

/** How many are due at `now`. */
export async function countBacklog(db: Queryable, userId: string, now: Date): Promise<number> {
  const text = `SELECT count(*) AS count FROM scheduling.materials m WHERE ${IS_DUE}`;
  const [row] = await db.query<{ count: number }>({ name: 'count-backlog', text, values: [userId, now] });
  return row?.count ?? 0;
}

/** How many become due later today, then on each of the days that begin at `starts`; `end` is that of the last. */
export async function countScheduled(
  db: Queryable,
  userId: string,
  { now, starts, end }: { now: Date; starts: readonly Date[]; end: Date },
): Promise<number[]> {
  const rows = await db.query<{ day: number; count: number }>({
    name: 'count-scheduled',
    text: COUNT_SCHEDULED,
    values: [userId, now, starts, end],
  });
  const countOf = new Map(rows.map(({ day, count }) => [day, count]));
  return Array.from({ length: starts.length + 1 }, (_, day) => countOf.get(day) ?? 0);
}

const LIST = `
  SELECT ${SNOOZE_COLUMNS} FROM scheduling.snoozes s
  WHERE s.user_id = $1 AND (s.create_time, s.snooze_id) < ($3, $4)
  ORDER BY s.create_time DESC, s.snooze_id DESC
  LIMIT $2`;

const LIST_OF_MATERIAL = `
  SELECT ${SNOOZE_COLUMNS}, m.revision
  FROM scheduling.snoozed_materials m
  JOIN scheduling.snoozes s ON s.user_id = m.user_id AND s.snooze_id = m.snooze_id
  WHERE m.user_id = $1 AND s.user_id = $1 AND m.material_id = $3 AND m.revision < $4
  ORDER BY m.revision DESC
  LIMIT $2`;

/** All the user's snoozes, latest first. */
export async function listSnoozes(
  db: Queryable,
  userId: string,
  page: { limit: number; after: { createTime: Date; snoozeId: string } | undefined; now: Date },
): Promise<ListedSnooze[]> {
  const { limit, after, now } = page;
  const { createTime, snoozeId } = after ?? { createTime: 'infinity', snoozeId: MAX_UUID };
  return db.query({ name: 'list-snoozes', text: LIST, values: [userId, limit, createTime, snoozeId, now] });
}

/** The snoozes of one material, latest first, with the revision that each made, below `beforeRevision`. */
export async function listSnoozesOfMaterial(
  db: Queryable,
  userId: string,
  materialId: string,
  page: { limit: number; beforeRevision: number | undefined; now: Date },
): Promise<(ListedSnooze & { revision: number })[]> {
  const { limit, beforeRevision = MAX_REVISION, now } = page;
  return db.query({
    name: 'list-snoozes-of-material',
    text: LIST_OF_MATERIAL,
    values: [userId, limit, materialId, beforeRevision, now],
  });
}

const FIND = `
  SELECT s.snooze_until_time AS "snoozeUntilTime", ARRAY(
    SELECT p.material_id FROM scheduling.snoozed_materials p WHERE p.user_id = $1 AND p.snooze_id = $2) AS "materialIds"
  FROM scheduling.snoozes s WHERE s.user_id = $1 AND s.snooze_id = $2`;

const LIST_CANCELLABLE = `
  SELECT p.material_id AS "materialId", p.before_next_review_time AS "nextReviewTime"
  FROM scheduling.snoozed_materials p
  WHERE p.user_id = $1 AND p.snooze_id = $2 AND ${IS_CANCELLABLE}
  ORDER BY p.position`;

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

/** The materials of a snooze that still wait because of it, in its order. */
export async function listCancellable(
  transaction: Queryable,
  userId: string,
  snoozeId: string,
): Promise<WaitingMaterial[]> {
  return transaction.query<WaitingMaterial>({ text: LIST_CANCELLABLE, values: [userId, snoozeId] });
}

/** `revision` is the material's after the cancellation. */
type ReturnedMaterial = WaitingMaterial & { revision: number };

/** Restores the next review times of locked materials of a snooze, at least one, and marks the snooze cancelled. */
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
  await run(MOVE, [cancelTime, materialIds, times, revisions]);
  await run(CANCEL_FOR_MATERIALS, [snoozeId, materialIds, revisions]);
  await run(CANCEL, [snoozeId, cancelTime]);
}
