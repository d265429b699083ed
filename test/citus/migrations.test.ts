// Every migration runs on a distributed database, so that a release can follow a distribution.
import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { migrate } from '../../services/platform/postgres/migrate.ts';
import { distributeScheduling } from '../../services/scheduling/distribute.ts';
import { schedulingSchema } from '../../services/scheduling/service.ts';
import { createCitusDatabase, hasCitus } from '../support/citus.ts';

beforeAll(prepare);
afterAll(stopAll);

test.skipIf(!hasCitus)(
  'every migration after a distribution runs on the nodes and keeps the rows',
  async () => {
    copy(files.slice(0, FIRST));
    await run();
    await distributeScheduling(database.databaseUrl);
    await sql.query(
      `SELECT scheduling.insert_material($1, $2, 'Quokka', 'A text', NULL, 'card', 250, 0, 0, now(), now())`,
      [userId, materialId],
    );
    copy(files.slice(FIRST));
    expect(await run()).toEqual(files.slice(FIRST).map((name) => name.replace('.sql', '')));
    const { rows } = await sql.query(
      'SELECT title, create_time IS NOT NULL AS has_time FROM scheduling.material_search WHERE user_id = $1',
      [userId],
    );
    expect(rows).toEqual([{ title: 'quokka', has_time: true }]);
    for (const worker of database.workers) {
      const client = new Client({ connectionString: worker });
      await client.connect();
      const { rows: functions } = await client.query(
        `SELECT proname FROM pg_proc WHERE pronamespace = 'scheduling'::regnamespace AND proname IN
         ('apply_review', 'search_all_of') ORDER BY 1`,
      );
      await client.end();
      expect(functions).toEqual([
        { proname: 'apply_review' },
        { proname: 'apply_review' },
        { proname: 'search_all_of' },
      ]);
    }
    // A migration that makes a table distributes it; this delegates reviews.
    expect(await distributeScheduling(database.databaseUrl)).toEqual({ state: 'distributed', tables: [] });
  },
);

test.skipIf(!hasCitus)(
  'a migration that meets a lock on a node gives up soon, so that others pass, and is tried again',
  async () => {
    writeFileSync(
      join(directory, '9999_change.sql'),
      '-- Up Migration\nALTER TABLE scheduling.materials ADD COLUMN extra integer;\n',
    );
    // Its locks are on the nodes only.
    const writer = new Client({ connectionString: database.workers[0] });
    await writer.connect();
    await writer.query('BEGIN');
    await writer.query(`UPDATE scheduling.materials SET title = 'Held' WHERE user_id = $1`, [userId]);
    const migrated = run();
    migrated.catch(() => {});
    const waits = async () =>
      (
        await sql.query(
          `SELECT FROM citus_stat_activity WHERE application_name = 'scheduling-migrate' AND query LIKE 'ALTER TABLE%'
             AND state = 'active'`,
        )
      ).rowCount;
    for (const isWaiting of [true, false, true])
      await expect.poll(async () => Number(await waits()) > 0).toBe(isWaiting);
    await writer.query('COMMIT');
    expect(await migrated).toEqual(['9999_change']);
    await writer.end();
  },
);

const logger = createLogger('test', 'silent');
const files = readdirSync(schedulingSchema.directory).toSorted();
/** The first release that could be distributed has the first four. */
const FIRST = 4;
const userId = '00000000-0000-7000-8000-000000000001';
const materialId = '00000000-0000-7000-8000-000000000002';

let database: Awaited<ReturnType<typeof createCitusDatabase>>;
let directory: string;
let sql: Client;

async function prepare(): Promise<void> {
  if (!hasCitus) return;
  database = await createCitusDatabase();
  directory = mkdtempSync(join(tmpdir(), 'srs-migrations-'));
  sql = new Client({ connectionString: database.databaseUrl });
  sql.on('error', () => {});
  await sql.connect();
}

async function stopAll(): Promise<void> {
  if (!hasCitus) return;
  await sql.end();
  rmSync(directory, { recursive: true });
  await database.drop();
}

const copy = (names: readonly string[]) => {
  for (const name of names) copyFileSync(join(schedulingSchema.directory, name), join(directory, name));
};

const run = () => migrate({ databaseUrl: database.databaseUrl, schema: 'scheduling', directory, logger });
