// Many learners with few materials each, made in SQL.
import { createHash } from 'node:crypto';
import type { Client } from 'pg';

/** Of each learner. */
export const MATERIALS = 10;

/** Ten materials a learner, each reviewed three times in the last 60 days, in the order in which a service writes them. */
export async function copyLearners(client: Client, learners: number): Promise<void> {
  const user = `md5('learner ' || n)::uuid`;
  const material = `md5('material ' || n || ' ' || k)::uuid`;
  const each = `generate_series(0, ${MATERIALS - 1}) k, generate_series(0, ${learners - 1}) n`;
  const reviewed = `now() - interval '60 days' + ((r - 1) * 10 + k) * interval '2 days' + n * interval '1.5 days' / ${learners}`;
  // Foreign keys are not checked row by row.
  await client.query(`SET session_replication_role = replica`);
  await client.query(`
    INSERT INTO scheduling.materials (user_id, material_id, title, type, ease_factor_hundredths, interval_days, repetitions,
      next_review_time, last_reviewed_time, revision, create_time, update_time)
    SELECT ${user}, ${material}, 'Material ' || k, 'simple', 250, 15, 3, now() + (random() * 60 - 5) * interval '1 day',
      now() - interval '1 day', 3, now() - interval '90 days', now() - interval '1 day'
    FROM ${each} ORDER BY k, n`);
  await client.query(`
    INSERT INTO scheduling.material_search (user_id, material_id, create_time, title, content, source_url)
    SELECT ${user}, ${material}, now() - interval '90 days', 'material ' || k, '', '' FROM ${each} ORDER BY k, n`);
  await client.query(`
    INSERT INTO scheduling.reviews (user_id, material_id, revision, review_id, quality, review_time,
      before_ease_factor_hundredths, before_interval_days, before_repetitions, before_next_review_time,
      after_ease_factor_hundredths, after_interval_days, after_repetitions, after_next_review_time, x_request_id)
    SELECT ${user}, ${material}, r, gen_random_uuid(), 4, ${reviewed}, 250, 1, r - 1, ${reviewed}, 250, 6, r,
      ${reviewed} + interval '6 days', gen_random_uuid()
    FROM generate_series(1, 3) r, ${each} ORDER BY r, k, n`);
}

/** Of "learner 7", or of "material 7 3", as SQL makes them above. */
export function idOf(label: string): string {
  const digest = createHash('md5').update(label).digest('hex');
  return digest.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
