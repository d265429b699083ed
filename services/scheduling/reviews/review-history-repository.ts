// The SQL of the review history: all reviews of a user, or the latest reviews of given materials.
import type { Queryable } from '../../platform/postgres/database.ts';
import { MAX_UUID, NIL_UUID } from '../../platform/uuid.ts';
import { requestRows } from '../batches/request-rows-sql.ts';
import type { Review } from './review.ts';
import {
  GRADE_COLUMNS,
  REVIEW_COLUMNS,
  type ReviewRow,
  SUMMARY_COLUMNS,
  toGrade,
  toReview,
  toSummary,
} from './review-row.ts';

/** Whose reviews of which materials: at most `maxRows` of each, of revisions below `beforeRevision`. */
export type MaterialsRequest = {
  userId: string;
  materialIds: readonly string[];
  maxRows: number;
  beforeRevision: number;
};
/** Above the revision of every review. */
export const ANY_REVISION = 2_147_483_647;

type ReviewPosition = { reviewTime: Date; reviewId: string };

type Order = 'latest first' | 'oldest first';

const list = (comparison: '<' | '>', direction: 'ASC' | 'DESC') => `
  SELECT ${REVIEW_COLUMNS} FROM scheduling.reviews m
  WHERE m.user_id = $1 AND (m.review_time, m.review_id) ${comparison} ($3, $4) AND m.review_time >= $5
  ORDER BY m.review_time ${direction}, m.review_id ${direction}
  LIMIT $2`;

const LISTS = {
  'latest first': {
    statement: { name: 'list-reviews', text: list('<', 'DESC') },
    start: { reviewTime: 'infinity', reviewId: MAX_UUID },
  },
  'oldest first': {
    statement: { name: 'list-reviews-oldest-first', text: list('>', 'ASC') },
    start: { reviewTime: '-infinity', reviewId: NIL_UUID },
  },
};

/** For each request the reviews by material, latest first. */
const latestOfMaterials = <R, T>(name: string, columns: string, toItem: (row: R) => T) => {
  const read = requestRows<MaterialsRequest, R>({
    name,
    types: { userId: 'uuid', materialIds: 'uuid[]', maxRows: 'integer', beforeRevision: 'integer' },
    select: (asked) => `
      SELECT m.*
      FROM unnest(${asked.materialIds}) AS listed (material_id)
      CROSS JOIN LATERAL (
        SELECT ${columns} FROM scheduling.reviews m
        WHERE m.user_id = ${asked.userId} AND m.material_id = listed.material_id
          AND m.revision < ${asked.beforeRevision}
        ORDER BY m.revision DESC
        LIMIT ${asked.maxRows}
      ) m`,
    order: 'm.material_id, m.revision DESC',
  });
  return async (db: Queryable, requests: readonly MaterialsRequest[]): Promise<T[][]> =>
    (await read(db, requests)).map((rows) => rows.map(toItem));
};

export const listReviewsOfMaterials = latestOfMaterials(
  'list-reviews-of-materials',
  REVIEW_COLUMNS,
  toReview,
);
/** The same without schedules and request IDs: two fifths of the bytes. */
export const listReviewSummariesOfMaterials = latestOfMaterials(
  'list-review-summaries',
  SUMMARY_COLUMNS,
  toSummary,
);
/** The same with the grades alone. */
export const listGradesOfMaterials = latestOfMaterials('list-review-grades', GRADE_COLUMNS, toGrade);

/** All the user's reviews, or only those from `since` on. */
export async function listReviews(
  db: Queryable,
  userId: string,
  {
    limit,
    after,
    order,
    since,
  }: { limit: number; after: ReviewPosition | undefined; order: Order; since?: Date | undefined },
): Promise<Review[]> {
  const { statement, start } = LISTS[order];
  const { reviewTime, reviewId } = after ?? start;
  const rows = await db.query<ReviewRow>({
    ...statement,
    values: [userId, limit, reviewTime, reviewId, since ?? '-infinity'],
  });
  return rows.map(toReview);
}
