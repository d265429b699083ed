// The SQL of reviews: apply one if nobody was faster, and list the history.
import type { Queryable } from '../../platform/postgres.ts';
import type { Review, ReviewSummary } from '../domain/review.ts';
import type { Quality } from '../domain/sm2.ts';
import { byNumber, type Numbered } from './numbered-rows.ts';

type SummaryRow = {
  material_id: string;
  revision: number;
  review_id: string;
  quality: Quality;
  review_time: Date;
};
export type ReviewRow = SummaryRow & {
  before_ease_factor_hundredths: number;
  before_interval_days: number;
  before_repetitions: number;
  before_next_review_time: Date | null;
  after_ease_factor_hundredths: number;
  after_interval_days: number;
  after_repetitions: number;
  after_next_review_time: Date;
};

/** The request that made a review: its id in every log, and the W3C trace that it belongs to. */
export type ReviewOrigin = { requestId: string; traceparent: string | undefined };

/** Whose reviews of which materials: at most `limit` of each. */
export type SummariesRequest = { userId: string; materialIds: readonly string[]; limit: number };

export type ReviewPosition = { reviewTime: Date; reviewId: string };

const SUMMARY_COLUMNS = 'r.material_id, r.revision, r.review_id, r.quality, r.review_time';

/** Of scheduling.reviews under the alias r. */
export const REVIEW_COLUMNS = `${SUMMARY_COLUMNS}, r.before_ease_factor_hundredths,
  r.before_interval_days, r.before_repetitions, r.before_next_review_time, r.after_ease_factor_hundredths,
  r.after_interval_days, r.after_repetitions, r.after_next_review_time`;

/** Compare-and-swap on the revision: the history row exists exactly if the material was updated. */
const APPLY_REVIEW = `
  WITH rescheduled AS (
    UPDATE scheduling.materials
    SET ease_factor_hundredths = $11, interval_days = $12, repetitions = $13, next_review_time = $14,
        last_reviewed_time = $6, update_time = $6, revision = $3
    WHERE user_id = $1 AND material_id = $2 AND revision = $3 - 1
    RETURNING revision
  )
  INSERT INTO scheduling.reviews (user_id, material_id, revision, review_id, quality, review_time,
    before_ease_factor_hundredths, before_interval_days, before_repetitions, before_next_review_time,
    after_ease_factor_hundredths, after_interval_days, after_repetitions, after_next_review_time,
    x_request_id, traceparent)
  SELECT $1, $2, revision, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16 FROM rescheduled
  RETURNING revision`;

const LIST = `
  SELECT ${REVIEW_COLUMNS} FROM scheduling.reviews r
  WHERE r.user_id = $1 AND (r.review_time, r.review_id) < ($3, $4)
  ORDER BY r.review_time DESC, r.review_id DESC
  LIMIT $2`;

const LIST_OLDEST_FIRST = `
  SELECT ${REVIEW_COLUMNS} FROM scheduling.reviews r
  WHERE r.user_id = $1 AND (r.review_time, r.review_id) > ($3, $4)
  ORDER BY r.review_time, r.review_id
  LIMIT $2`;

const listOfMaterials = (columns: string) => `
  SELECT ${columns}
  FROM unnest($2::uuid[]) AS asked (material_id)
  CROSS JOIN LATERAL (
    SELECT * FROM scheduling.reviews
    WHERE user_id = $1 AND material_id = asked.material_id AND revision < $4
    ORDER BY revision DESC
    LIMIT $3
  ) r
  ORDER BY r.material_id, r.revision DESC`;

const LIST_OF_MATERIALS = listOfMaterials(REVIEW_COLUMNS);
const LIST_SUMMARIES_OF_MATERIALS = listOfMaterials(SUMMARY_COLUMNS);

const LIST_SUMMARIES_OF_USERS = `
  SELECT asked.number, r.*
  FROM unnest($1::uuid[], $2::uuid[], $3::integer[], $4::integer[]) AS asked (user_id, material_id, size, number)
  CROSS JOIN LATERAL (
    SELECT ${SUMMARY_COLUMNS} FROM scheduling.reviews r
    WHERE r.user_id = asked.user_id AND r.material_id = asked.material_id
    ORDER BY r.revision DESC
    LIMIT asked.size
  ) r
  ORDER BY asked.number, r.material_id, r.revision DESC`;

const LATEST = { reviewTime: 'infinity', reviewId: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };
const EARLIEST = { reviewTime: '-infinity', reviewId: '00000000-0000-0000-0000-000000000000' };
const MAX_INTEGER = 2_147_483_647;

/**
 * Applies a review that was computed from the material's revision before it.
 * @returns false, and nothing is written, where the material has changed since or is gone.
 */
export async function applyReviewIfCurrent(
  db: Queryable,
  userId: string,
  review: Review,
  origin: ReviewOrigin,
): Promise<boolean> {
  const { before, after } = review;
  const rows = await db.query({
    name: 'apply-review',
    text: APPLY_REVIEW,
    values: [
      userId,
      review.materialId,
      review.revision,
      review.reviewId,
      review.quality,
      review.reviewTime,
      before.easeFactorHundredths,
      before.intervalDays,
      before.repetitions,
      before.nextReviewTime,
      after.easeFactorHundredths,
      after.intervalDays,
      after.repetitions,
      after.nextReviewTime,
      origin.requestId,
      origin.traceparent,
    ],
  });
  return rows.length === 1;
}

/** All the user's reviews, latest first. */
export async function listReviews(
  db: Queryable,
  userId: string,
  { limit, after }: { limit: number; after: ReviewPosition | undefined },
): Promise<Review[]> {
  const { reviewTime, reviewId } = after ?? LATEST;
  const values = [userId, limit, reviewTime, reviewId];
  const rows = await db.query<ReviewRow>({ name: 'list-reviews', text: LIST, values });
  return rows.map(toReview);
}

/** All the user's reviews, oldest first. */
export async function listReviewsOldestFirst(
  db: Queryable,
  userId: string,
  { limit, after }: { limit: number; after: ReviewPosition | undefined },
): Promise<Review[]> {
  const { reviewTime, reviewId } = after ?? EARLIEST;
  const values = [userId, limit, reviewTime, reviewId];
  const rows = await db.query<ReviewRow>({
    name: 'list-reviews-oldest-first',
    text: LIST_OLDEST_FIRST,
    values,
  });
  return rows.map(toReview);
}

/** At most `limit` reviews of each material, by material, latest first, of revisions below `beforeRevision`. */
export async function listReviewsOfMaterials(
  db: Queryable,
  userId: string,
  materialIds: readonly string[],
  { limit, beforeRevision = MAX_INTEGER }: { limit: number; beforeRevision?: number | undefined },
): Promise<Review[]> {
  const values = [userId, materialIds, limit, beforeRevision];
  const rows = await db.query<ReviewRow>({
    name: 'list-reviews-of-materials',
    text: LIST_OF_MATERIALS,
    values,
  });
  return rows.map(toReview);
}

/** The same, of each review only that it was made: two fifths of what there is to read and send. */
export async function listReviewSummariesOfMaterials(
  db: Queryable,
  { userId, materialIds, limit }: SummariesRequest,
): Promise<ReviewSummary[]> {
  const rows = await db.query<SummaryRow>({
    name: 'list-review-summaries-of-materials',
    text: LIST_SUMMARIES_OF_MATERIALS,
    values: [userId, materialIds, limit, MAX_INTEGER],
  });
  return rows.map(toSummary);
}

/** The same of several users, in the order of the requests. */
export async function listReviewSummariesOfUsers(
  db: Queryable,
  requests: readonly SummariesRequest[],
): Promise<ReviewSummary[][]> {
  const asked = requests.flatMap(({ userId, materialIds, limit }, index) =>
    materialIds.map((materialId) => ({ userId, materialId, limit, number: index + 1 })),
  );
  const rows = await db.query<Numbered<SummaryRow>>({
    name: 'list-review-summaries-of-users',
    text: LIST_SUMMARIES_OF_USERS,
    values: [
      asked.map(({ userId }) => userId),
      asked.map(({ materialId }) => materialId),
      asked.map(({ limit }) => limit),
      asked.map(({ number }) => number),
    ],
  });
  return byNumber(rows, requests.length, toSummary);
}

function toSummary(row: SummaryRow): ReviewSummary {
  return {
    reviewId: row.review_id,
    materialId: row.material_id,
    quality: row.quality,
    reviewTime: row.review_time,
    revision: row.revision,
  };
}

export function toReview(row: ReviewRow): Review {
  return {
    ...toSummary(row),
    before: {
      easeFactorHundredths: row.before_ease_factor_hundredths,
      intervalDays: row.before_interval_days,
      repetitions: row.before_repetitions,
      nextReviewTime: row.before_next_review_time,
    },
    after: {
      easeFactorHundredths: row.after_ease_factor_hundredths,
      intervalDays: row.after_interval_days,
      repetitions: row.after_repetitions,
      nextReviewTime: row.after_next_review_time,
    },
  };
}
