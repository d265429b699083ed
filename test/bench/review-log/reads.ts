// What the service's own statements over the review log cost for typical learners, by EXPLAIN.
import type { Queryable, Statement } from '../../../services/platform/postgres/database.ts';
import {
  ANY_REVISION,
  listReviews,
  listReviewsOfMaterials,
} from '../../../services/scheduling/reviews/sql.ts';
import { lastDays } from '../../../services/scheduling/statistics/calendar.ts';
import {
  listHardestMaterials,
  readActivity,
  readDistributions,
  readRetention,
} from '../../../services/scheduling/statistics/sql.ts';
import { median } from '../figure.ts';
import { END_MS, type Learner } from './history.ts';
import type { Server } from './server.ts';

/** Medians over learners; of a function with two statements, their sum. */
export type ReadCost = { pages: number; planMs: number; runMs: number };

const LEARNERS = 20;
const asOf = new Date(END_MS);
const month = lastDays(asOf, 30, 'Europe/Berlin');
const year = lastDays(asOf, 365, 'Europe/Berlin');
const halfYearAgo = { reviewTime: new Date(END_MS - 180 * 86_400_000), reviewId: month.dates[0] ?? '' };

type Read = (db: Queryable, learner: Learner) => Promise<unknown>;
export const READS: Readonly<Record<string, Read>> = {
  'list-reviews, newest 20': (db, { userId }) =>
    listReviews(db, userId, { limit: 20, after: undefined, since: undefined }),
  'list-reviews, 20 of half a year ago': (db, { userId, materialIds }) =>
    listReviews(db, userId, {
      limit: 20,
      after: { ...halfYearAgo, reviewId: materialIds[0] ?? '' },
      since: undefined,
    }),
  'latest 3 of each of 100 materials': (db, { userId, materialIds }) =>
    listReviewsOfMaterials(db, userId, {
      materialIds: materialIds.slice(0, 100),
      maxRows: 3,
      beforeRevision: ANY_REVISION,
    }),
  'retention, 30 days': (db, { userId }) => readRetention(db, userId, asOf, month),
  'distributions, 30 days': (db, { userId }) => readDistributions(db, userId, asOf, month),
  'hardest, 30 days': (db, { userId }) =>
    listHardestMaterials(
      db,
      userId,
      { asOf, days: month, minReviews: 1 },
      { limit: 20, withTexts: true, after: undefined },
    ),
  'activity with streaks, all time': (db, { userId }) => readActivity(db, userId, asOf, year),
};

export async function measureReads(
  { db }: Server,
  learners: readonly Learner[],
): Promise<Record<string, ReadCost>> {
  const step = Math.max(1, Math.floor(learners.length / LEARNERS));
  const asked = learners.filter((_, number) => number % step === 0).slice(0, LEARNERS);
  const costs: Record<string, ReadCost> = {};
  for (const [name, read] of Object.entries(READS)) {
    const seen: ReadCost[] = [];
    for (const learner of asked) {
      await read(db, learner);
      const sum = { pages: 0, planMs: 0, runMs: 0 };
      await read(explaining(db, sum), learner);
      seen.push(sum);
    }
    const of = (figure: keyof ReadCost) => median(seen.map((cost) => cost[figure]));
    costs[name] = { pages: of('pages'), planMs: of('planMs'), runMs: of('runMs') };
  }
  return costs;
}

type Plan = { 'Shared Hit Blocks': number; 'Shared Read Blocks': number };
type Explained = { 'QUERY PLAN': [{ Plan: Plan; 'Planning Time': number; 'Execution Time': number }] };

/** Answers as `db` does, and adds to `sum` what each statement has cost. */
function explaining(db: Queryable, sum: ReadCost): Queryable {
  return {
    async query<R>({ text, values }: Statement): Promise<R[]> {
      const explain = `EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ${text}`;
      const [row] = await db.query<Explained>({ text: explain, values });
      const [explained] = row?.['QUERY PLAN'] ?? [];
      sum.pages += (explained?.Plan['Shared Hit Blocks'] ?? 0) + (explained?.Plan['Shared Read Blocks'] ?? 0);
      sum.planMs += explained?.['Planning Time'] ?? 0;
      sum.runMs += explained?.['Execution Time'] ?? 0;
      return db.query<R>({ text, values });
    },
  };
}
