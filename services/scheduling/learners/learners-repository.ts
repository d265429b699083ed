// The SQL of the list of learners, as they were last counted.
import type { Queryable } from '../../platform/postgres/database.ts';
import { MAX_UUID, NIL_UUID } from '../../platform/uuid.ts';
import { type Days, type Figures, figuresOf } from './learner-days.ts';
import { dayOf } from './overview.ts';

/** `value`: by which the list is ordered. */
export type Learner = Figures & { userId: string; value: number };

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
  streakBroken: 'AND l.streak_broken',
} as const;
export type LearnerFilter = keyof typeof FILTERS;

/** Before the first row of an order, by whether it is descending. */
const START = {
  true: [2_147_483_647, MAX_UUID],
  false: [-1, NIL_UUID],
};

/** The start of a page: after the learner with this value of the order's key. */
type LearnerPosition = { value: number; userId: string };

/** Most due, most reviewed in 30 days, lowest retention, or longest without a review first. */
export async function listLearners(
  db: Queryable,
  { order, filter }: { order: LearnerOrder; filter: LearnerFilter },
  { limit, after }: { limit: number; after: LearnerPosition | undefined },
): Promise<Learner[]> {
  const { key, isDescending } = ORDERS[order];
  const [compare, direction] = isDescending ? ['<', 'DESC'] : ['>', 'ASC'];
  const rows = await db.query<{ userId: string; value: number; countTime: Date; days: Days }>({
    name: `list-learners-${order}-${filter}`,
    text: `
      SELECT l.user_id AS "userId", ${key} AS value, l.count_time AS "countTime", l.days FROM scheduling.learners l
      WHERE (${key}, l.user_id) ${compare} ($2::integer, $3::uuid) ${FILTERS[filter]}
      ORDER BY ${key} ${direction}, l.user_id ${direction}
      LIMIT $1`,
    values: after === undefined ? [limit, ...START[`${isDescending}`]] : [limit, after.value, after.userId],
  });
  return rows.map(({ userId, value, countTime, days }) => ({
    ...figuresOf({ countedDay: dayOf(countTime), days }),
    userId,
    value,
  }));
}
