// How many materials of a user are due, the first titles of them, and whether the user reviewed today; for many users at once.
import type { Queryable } from '../../platform/postgres/database.ts';
import { requestRows } from '../batches/request-rows-sql.ts';
import { DUE_TIME } from '../materials/material-row.ts';

export type DueCountRequest = {
  userId: string;
  asOf: Date;
  /** Start of the user's calendar day at `asOf`. */
  todayStartTime: Date;
};
type DueCount = { dueCount: number; titles: readonly string[]; reviewedToday: boolean };

/** Counting ends here, so that the cost does not grow with the number of materials. */
const MAX_COUNTED = 1000;
const MAX_TITLES = 5;

const DUE_ORDER = `${DUE_TIME}, m.material_id`;

/** As the list of due materials (materials/material-lists-repository.ts), in the order of the index materials_due. */
const firstDue = (columns: string, { userId, asOf }: { userId: string; asOf: string }, limit: number) => `
  SELECT ${columns} FROM scheduling.materials m
  WHERE m.user_id = ${userId} AND m.archive_time IS NULL AND ${DUE_TIME} <= ${asOf}
  ORDER BY ${DUE_ORDER} LIMIT ${limit}`;

type Row = { due_count: number; titles: string[]; reviewed_today: boolean };

const countDue = requestRows<DueCountRequest, Row>({
  name: 'due-counts',
  types: { userId: 'uuid', asOf: 'timestamptz', todayStartTime: 'timestamptz' },
  select: (asked) => {
    const counted = firstDue('m.material_id', asked, MAX_COUNTED);
    const titled = firstDue(`m.title, ${DUE_ORDER}`, asked, MAX_TITLES);
    return `
    SELECT counted.due_count, first.titles, latest.reviewed_today
    FROM (SELECT count(*) AS due_count FROM (${counted}) AS due) AS counted
    CROSS JOIN (
      SELECT coalesce(array_agg(due.title ORDER BY due.due_time, due.material_id), '{}') AS titles
      FROM (${titled}) AS due (title, due_time, material_id)
    ) AS first
    CROSS JOIN (
      SELECT count(*) > 0 AS reviewed_today
      FROM (
        SELECT r.review_id FROM scheduling.reviews r
        WHERE r.user_id = ${asked.userId} AND r.review_time >= ${asked.todayStartTime} AND r.review_time <= ${asked.asOf}
        LIMIT 1
      ) AS today
    ) AS latest`;
  },
});

/**
 * Until the end of the transaction. A bitmap would read all that is due, and the planner expects far less of it than some users
 * have; an index scan ends with the limit.
 */
const NO_BITMAPS = { text: 'SET LOCAL enable_bitmapscan = off', values: [] };

/** One for each request, in order; `db` is a transaction of its own. The count ends at 1,000. The titles are at most five, the longest overdue first. */
export async function readDueCounts(
  db: Queryable,
  requests: readonly DueCountRequest[],
): Promise<DueCount[]> {
  await db.query(NO_BITMAPS);
  const rows = await countDue(db, requests);
  return rows.map(([row]) => ({
    dueCount: row?.due_count ?? 0,
    titles: row?.titles ?? [],
    reviewedToday: row?.reviewed_today ?? false,
  }));
}
