// The two forms of the review log that are compared: the table as the schema has it, and the same parted by month.

import { startOfMonth } from './history.ts';
import type { Server } from './server.ts';

/** The year, and the month in which the reviews of the measurement fall. */
const MONTHS = 13;

/** Copies the log, in its order, into a table parted by review_time; the key has to take that in, for PostgreSQL asks it. */
export async function buildParted({ client, cost }: Server) {
  await client.query(`
    CREATE TABLE scheduling.reviews_parted (LIKE scheduling.reviews,
      PRIMARY KEY (user_id, material_id, revision, review_time),
      FOREIGN KEY (user_id, material_id) REFERENCES scheduling.materials ON DELETE CASCADE
    ) PARTITION BY RANGE (review_time);
    CREATE INDEX reviews_parted_latest ON scheduling.reviews_parted (user_id, review_time DESC, review_id DESC)
      INCLUDE (material_id, quality, before_interval_days)`);
  for (let month = 0; month < MONTHS; month += 1) {
    const [from, to] = [startOfMonth(month).toISOString(), startOfMonth(month + 1).toISOString()];
    await client.query(`CREATE TABLE scheduling.reviews_month_${month} PARTITION OF scheduling.reviews_parted
      FOR VALUES FROM ('${from}') TO ('${to}')`);
  }
  return cost(() => client.query('INSERT INTO scheduling.reviews_parted SELECT * FROM scheduling.reviews'));
}

/** From now on the service's statements meet the parted one. */
export async function swapIn({ client }: Server): Promise<void> {
  await client.query(`DROP TABLE scheduling.reviews;
    ALTER TABLE scheduling.reviews_parted RENAME TO reviews`);
}

/** The oldest month by DELETE, which leaves room for VACUUM to find. */
export async function deleteMonth({ client, cost }: Server) {
  const spent = await cost(() =>
    client.query('DELETE FROM scheduling.reviews WHERE review_time < $1', [startOfMonth(1)]),
  );
  const vacuum = await cost(() => client.query('VACUUM scheduling.reviews'));
  return { delete: spent, vacuum };
}

export async function dropMonth({ client, cost }: Server) {
  return cost(() => client.query('DROP TABLE scheduling.reviews_month_0'));
}

/** Bytes of a table and of each of its indexes, over all parts. */
export async function sizesOf({ client, sizeBytes }: Server, table: string): Promise<Record<string, number>> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT indexrelid::regclass::text AS name FROM pg_index WHERE indrelid = '${table}'::regclass`,
  );
  const sizes: Record<string, number> = { table: await sizeBytes(table) };
  for (const { name } of rows) sizes[name.replace(/^scheduling\./, '')] = await sizeBytes(name);
  return sizes;
}
