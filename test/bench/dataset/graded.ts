// Learners whose materials were reviewed 20 times each, as training and predictions read them.
import type { Client } from 'pg';

const REVIEWS_OF_MATERIAL = 20;

const MATERIALS = `
  INSERT INTO scheduling.materials (user_id, material_id, title, type, ease_factor_hundredths, interval_days, repetitions,
    next_review_time, create_time, update_time)
  SELECT user_id, gen_random_uuid(), 'Graded', 'simple', 250, 1, 1, now(), '2025-01-01Z', '2025-01-01Z'
  FROM unnest($1::uuid[]) AS user_id, generate_series(1, $2::int)`;
/** After 1 to 20 days more each time; four of five are recalled. */
const REVIEWS = `
  INSERT INTO scheduling.reviews
  SELECT user_id, material_id, n, gen_random_uuid(), CASE WHEN random() < 0.8 THEN 3 + n % 3 ELSE n % 3 END, at, 250, n, n, NULL, 250,
    n + 1, n + 1, at
  FROM scheduling.materials, generate_series(1, ${REVIEWS_OF_MATERIAL}) AS n,
    LATERAL (SELECT timestamptz '2025-01-01Z' + (n * (n + 1) / 2) * interval '1 day' + random() * interval '6 hours' AS at) AS each
  WHERE user_id = ANY($1::uuid[])`;

/** Gives each user materials with `reviews` reviews in all. */
export async function gradeMaterials(
  client: Client,
  userIds: readonly string[],
  reviews: number,
): Promise<void> {
  await client.query(MATERIALS, [userIds, reviews / REVIEWS_OF_MATERIAL]);
  await client.query(REVIEWS, [userIds]);
  await client.query('VACUUM ANALYZE scheduling.materials, scheduling.reviews');
}
