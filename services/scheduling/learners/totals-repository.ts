// The SQL that adds up learners who were counted, and their days.
import type { Queryable } from '../../platform/postgres/database.ts';
import type { DayCounts, LearnerTotals, Totals } from './overview.ts';

/** With a condition, of some users only; the sums over all learners cost as much as there are learners. */
const totals = (condition: string) => `
  SELECT count(*) AS learners, count(*) FILTER (WHERE reviews_week > 0) AS "activeWeek",
    count(*) FILTER (WHERE reviews_week_before > 0) AS "activeWeekBefore", count(*) FILTER (WHERE reviews_month > 0) AS "activeMonth",
    count(*) FILTER (WHERE reviews_month_before > 0) AS "activeMonthBefore", coalesce(sum(due), 0) AS due,
    count(*) FILTER (WHERE backlog_growing) AS "backlogGrowing",
    count(*) FILTER (WHERE broken_streak_days > 0) AS "streakBroken"
  FROM scheduling.learners ${condition}`;
const dayTotals = (condition: string) => `
  SELECT to_char(day, 'YYYY-MM-DD') AS date, count(*) FILTER (WHERE reviews > 0) AS learners, sum(reviews) AS reviews,
    sum(recalled) AS recalled
  FROM scheduling.learner_days WHERE day >= $1 ${condition} GROUP BY day`;
const TOTALS = totals('');
const TOTALS_OF_USERS = totals('WHERE user_id = ANY($1::uuid[])');
const DAY_TOTALS = dayTotals('');
const DAY_TOTALS_OF_USERS = dayTotals('AND user_id = ANY($2::uuid[])');

/** Of `userIds`, or else of all learners; their days from `fromDay` on. */
export async function readTotals(
  transaction: Queryable,
  fromDay: string,
  userIds?: readonly string[],
): Promise<Totals> {
  const [learners] = await transaction.query<LearnerTotals>(
    userIds === undefined
      ? { text: TOTALS, values: [] }
      : { name: 'totals-of-learners', text: TOTALS_OF_USERS, values: [userIds] },
  );
  if (learners === undefined) throw new Error('the database returned no totals');
  const days = await transaction.query<DayCounts & { date: string }>(
    userIds === undefined
      ? { text: DAY_TOTALS, values: [fromDay] }
      : { name: 'totals-of-days', text: DAY_TOTALS_OF_USERS, values: [fromDay, userIds] },
  );
  return { learners, days: new Map(days.map(({ date, ...counts }) => [date, counts])) };
}
