// The SQL of the list of learners, as they were last counted.
import type { Queryable } from '../../platform/postgres/database.ts';
import { MAX_UUID, NIL_UUID } from '../../platform/uuid.ts';

export type Learner = {
  userId: string;
  reviewsWeek: number;
  reviewsWeekBefore: number;
  reviewsMonth: number;
  recalledMonth: number;
  reviewsMonthBefore: number;
  recalledMonthBefore: number;
  /** null below 10 reviews. */
  retentionPermille: number | null;
  /** Whole days since 1970-01-01; null: none in 60 days. */
  lastReviewDay: number | null;
  streakDays: number;
  brokenStreakDays: number;
  due: number;
  dueBefore: number | null;
  backlogGrowing: boolean;
};

/** The index that gives each order, and whether it is read from the highest value. Learners without the value are left out. */
const ORDERS = {
  due: { key: 'l.due', isDescending: true },
  reviews: { key: 'l.reviews_month', isDescending: true },
  retention: { key: 'l.retention_permille', isDescending: false },
  lastReview: { key: 'l.last_review_day', isDescending: false },
} as const;
export type LearnerOrder = keyof typeof ORDERS;

const FILTERS = {
  all: '',
  backlogGrowing: 'AND l.backlog_growing',
  streakBroken: 'AND l.broken_streak_days > 0',
} as const;
export type LearnerFilter = keyof typeof FILTERS;

const EPOCH = "DATE '1970-01-01'";
const COLUMNS = `l.user_id AS "userId", l.reviews_week AS "reviewsWeek", l.reviews_week_before AS "reviewsWeekBefore",
  l.reviews_month AS "reviewsMonth", l.recalled_month AS "recalledMonth", l.reviews_month_before AS "reviewsMonthBefore",
  l.recalled_month_before AS "recalledMonthBefore", l.retention_permille AS "retentionPermille",
  l.last_review_day - ${EPOCH} AS "lastReviewDay", l.streak_days AS "streakDays",
  l.broken_streak_days AS "brokenStreakDays", l.due, l.due_before AS "dueBefore", l.backlog_growing AS "backlogGrowing"`;

/** Before the first row of an order, by whether it is descending. */
const START = {
  true: [2_147_483_647, MAX_UUID],
  false: [-1, NIL_UUID],
};

/** The start of a page: after the learner with this value of the order's key. */
type LearnerPosition = { value: number; userId: string };

/** The value by which a learner is ordered. */
export function valueIn(order: LearnerOrder, learner: Learner): number {
  const values = {
    due: learner.due,
    reviews: learner.reviewsMonth,
    retention: learner.retentionPermille,
    lastReview: learner.lastReviewDay,
  };
  return values[order] ?? 0;
}

/** Most due, most reviewed in 30 days, lowest retention, or longest without a review first. */
export async function listLearners(
  db: Queryable,
  { order, filter }: { order: LearnerOrder; filter: LearnerFilter },
  { limit, after }: { limit: number; after: LearnerPosition | undefined },
): Promise<Learner[]> {
  const { key, isDescending } = ORDERS[order];
  const [compare, direction] = isDescending ? ['<', 'DESC'] : ['>', 'ASC'];
  const value = order === 'lastReview' ? `${EPOCH} + $2::integer` : '$2::integer';
  return db.query<Learner>({
    name: `list-learners-${order}-${filter}`,
    text: `
      SELECT ${COLUMNS} FROM scheduling.learners l
      WHERE (${key}, l.user_id) ${compare} (${value}, $3::uuid) ${FILTERS[filter]}
      ORDER BY ${key} ${direction}, l.user_id ${direction}
      LIMIT $1`,
    values: after === undefined ? [limit, ...START[`${isDescending}`]] : [limit, after.value, after.userId],
  });
}
