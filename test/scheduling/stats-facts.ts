// Histories to count, and how they get into the database at once.
import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { toTimestamp } from '../../services/platform/instants.ts';
import type { History } from '../../services/scheduling/statistics/prediction.ts';
import type { Facts, MaterialFact, ReviewFact } from './stats-recount.ts';

export const material = (fields: Partial<MaterialFact> = {}): MaterialFact => ({
  materialId: randomUUID(),
  easeFactorHundredths: 250,
  intervalDays: 6,
  nextReviewTime: null,
  isArchived: false,
  ...fields,
});
export const due = (time: string) => material({ nextReviewTime: Date.parse(time) });
export const review = (of: MaterialFact, time: string, quality = 4, beforeIntervalDays = 1): ReviewFact => ({
  materialId: of.materialId,
  time: Date.parse(time),
  quality,
  beforeIntervalDays,
});
/** Days of Berlin, the day after its clocks went forward unless another time is given. */
export const window = (days: number, time = '2026-03-30T10:00:00Z') => ({
  timeZone: 'Europe/Berlin',
  asOfTime: toTimestamp(new Date(time)),
  days,
});

export async function storeFacts(sql: Client, userId: string, { materials, reviews }: Facts): Promise<void> {
  const date = (time: number | null) => (time === null ? null : new Date(time));
  await sql.query(
    `INSERT INTO scheduling.materials (user_id, material_id, title, type, ease_factor_hundredths, interval_days,
       repetitions, next_review_time, create_time, update_time, archive_time)
     SELECT $1, id, 'T', 'simple', ef, days, 1, next, '2000-01-01Z', '2000-01-01Z', archived
     FROM unnest($2::uuid[], $3::int[], $4::int[], $5::timestamptz[], $6::timestamptz[]) AS m (id, ef, days, next, archived)`,
    [
      userId,
      materials.map(({ materialId }) => materialId),
      materials.map(({ easeFactorHundredths }) => easeFactorHundredths),
      materials.map(({ intervalDays }) => intervalDays),
      materials.map(({ nextReviewTime }) => date(nextReviewTime)),
      materials.map(({ isArchived }) => (isArchived ? new Date(0) : null)),
    ],
  );
  await sql.query(
    `INSERT INTO scheduling.reviews
     SELECT $1, id, row_number() OVER (), gen_random_uuid(), quality, at, 250, before, 1, NULL, 250, 1, 1, at
     FROM unnest($2::uuid[], $3::int[], $4::timestamptz[], $5::int[]) AS r (id, quality, at, before)`,
    [
      userId,
      reviews.map(({ materialId }) => materialId),
      reviews.map(({ quality }) => quality),
      reviews.map(({ time }) => date(time)),
      reviews.map(({ beforeIntervalDays }) => beforeIntervalDays),
    ],
  );
}

/** The histories of a simulated learner, each of a material of its own. */
export async function storeHistories(
  sql: Client,
  userId: string,
  histories: readonly History[],
): Promise<void> {
  const facts = histories.map(({ reviews }) => {
    const of = material();
    return {
      of,
      reviews: reviews.map(([quality, timeMs, , intervalDays]) =>
        review(of, new Date(timeMs).toISOString(), quality, intervalDays),
      ),
    };
  });
  await storeFacts(sql, userId, {
    materials: facts.map(({ of }) => of),
    reviews: facts.flatMap(({ reviews }) => reviews),
  });
}
