// The SQL of the nightly round that scores and trains all learners, and of what it stores.
import type { Queryable } from '../../platform/postgres/database.ts';
import { insertRows } from '../../platform/postgres/insert.ts';
import { isCounted } from '../rows.ts';
import type { Predictor, Training } from '../statistics/prediction.ts';

/** `time`: by the database's clock, which all processes share. `afterUserId`: whose turn was the latest; null: the round begins. */
export type Round = { time: Date; nextTime: Date; afterUserId: string | null };

const ROUND = `
  SELECT clock_timestamp() AS time, next_time AS "nextTime", after_user_id AS "afterUserId" FROM scheduling.prediction_round`;

export async function readRound(db: Queryable): Promise<Round | undefined> {
  const [round] = await db.query<Round>({ text: ROUND, values: [] });
  return round;
}

/** The same, and until the end of the transaction nobody else changes it. */
export async function lockRound(transaction: Queryable): Promise<Round | undefined> {
  const [round] = await transaction.query<Round>({ text: `${ROUND} FOR UPDATE`, values: [] });
  return round;
}

const STORE_ROUND = 'UPDATE scheduling.prediction_round SET after_user_id = $1, next_time = $2';

export async function storeRound(
  db: Queryable,
  { afterUserId, nextTime }: Pick<Round, 'afterUserId' | 'nextTime'>,
): Promise<void> {
  await db.query({ text: STORE_ROUND, values: [afterUserId, nextTime] });
}

/** Learners by what predicts them best; null: nothing beats the average. */
export type BestCounts = readonly { best: Predictor | null; learners: number }[];

const COUNT_BEST = `
  SELECT p.best, count(*) AS learners FROM scheduling.learner_predictions p WHERE p.scored_reviews >= $1 GROUP BY p.best`;

/** Of the learners with at least `minReviews` scored reviews. */
export async function countBest(db: Queryable, minReviews: number): Promise<BestCounts> {
  return db.query({ text: COUNT_BEST, values: [minReviews] });
}

const STORE_BEST = 'UPDATE scheduling.prediction_round SET end_time = $1, best_counts = $2';

export async function storeBest(db: Queryable, endTime: Date, counts: BestCounts): Promise<void> {
  await db.query({ text: STORE_BEST, values: [endTime, JSON.stringify(counts)] });
}

const BEST = `
  SELECT end_time AS "endTime", best_counts AS counts FROM scheduling.prediction_round WHERE end_time IS NOT NULL`;

/** As the latest complete round left them, and when; undefined before the first. */
export async function readBest(db: Queryable): Promise<{ endTime: Date; counts: BestCounts } | undefined> {
  const [row] = await db.query<{ endTime: Date; counts: BestCounts }>({
    name: 'read-best',
    text: BEST,
    values: [],
  });
  return row;
}

/** `before`: how many reviews there were when the learner was last scored; null: never. */
type Candidate = { userId: string; before: number | null };

/** The day of a time, as scheduling.learners counts days. */
const CANDIDATES = `
  SELECT l.user_id AS "userId", p.reviews AS before FROM scheduling.learners l
  LEFT JOIN scheduling.learner_predictions p ON p.user_id = l.user_id
  WHERE l.user_id > $1 AND (p.user_id IS NULL OR l.last_review_day >= floor(date_part('epoch', p.score_time) / 86400))
  ORDER BY l.user_id LIMIT $2`;

/** The next learners, by ID, who were never scored or have reviewed since. */
export async function listCandidates(
  db: Queryable,
  afterUserId: string,
  limit: number,
): Promise<Candidate[]> {
  return db.query({ text: CANDIDATES, values: [afterUserId, limit] });
}

const COUNT_REVIEWS = `
  SELECT r.user_id AS "userId", count(*) AS reviews FROM scheduling.reviews r
  WHERE r.user_id = ANY($1::uuid[]) AND ${isCounted('r')} GROUP BY r.user_id`;

/** How many reviews count, by user. */
export async function countReviews(db: Queryable, userIds: readonly string[]): Promise<Map<string, number>> {
  type Row = { userId: string; reviews: number };
  const rows = await db.query<Row>({ text: COUNT_REVIEWS, values: [userIds] });
  return new Map(rows.map(({ userId, reviews }) => [userId, reviews]));
}

type NewPrediction = {
  reviews: number;
  scoreTime: Date;
  scoredReviews: number;
  best: Predictor | null;
  training: Training | null;
};

/** What a learner's turn found, in the place of what the one before did. */
export async function storePrediction(
  transaction: Queryable,
  userId: string,
  { training, ...scored }: NewPrediction,
): Promise<void> {
  const { parameters = null, trainTime = null, reviews: trainReviews = null } = training ?? {};
  const row = { userId, ...scored, parameters, trainTime, trainReviews };
  await insertRows(transaction, 'scheduling.learner_predictions', [row], 'userId');
}
