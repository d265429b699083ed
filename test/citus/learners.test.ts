// The figures of all learners, counted on a Citus cluster.
import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { type Database, openDatabase } from '../../services/platform/postgres/database.ts';
import { migrate } from '../../services/platform/postgres/migrate.ts';
import { countLearners } from '../../services/scheduling/count-learners.ts';
import { distributeScheduling } from '../../services/scheduling/distribute.ts';
import { listLearners, readOverview } from '../../services/scheduling/learners/sql.ts';
import { schedulingSchema } from '../../services/scheduling/service.ts';
import { createCitusDatabase, hasCitus } from '../support/citus.ts';

beforeAll(startAll);
afterAll(stopAll);

test.skipIf(!hasCitus)('all learners are counted over the nodes, at first and after changes', async () => {
  const users = Array.from({ length: 20 }, () => randomUUID());
  const materials = new Map<string, string>();
  for (const userId of users) {
    const materialId = await createMaterial(userId, NOON);
    materials.set(userId, materialId);
    await review(userId, materialId, 1, NOON);
  }
  await countLearners(database, NOON);
  const all = users.toSorted().toReversed();
  expect(await counted()).toEqual(all.map((userId) => ({ userId, reviewsWeek: 1, due: 1 })));
  expect((await readOverview(database))?.summary).toMatchObject({ learners: 20, activeWeek: 20, due: 20 });

  const [one = ''] = all;
  await review(one, materials.get(one) ?? '', 2, LATER);
  await createMaterial(one, LATER);
  await countLearners(database, LATER);
  expect((await counted())[0]).toEqual({ userId: one, reviewsWeek: 2, due: 2 });
  expect((await readOverview(database))?.summary).toMatchObject({ learners: 20, due: 21 });
});

const NOON = new Date('2026-03-31T12:00:00Z');
const LATER = new Date('2026-03-31T12:10:00Z');
const logger = createLogger('test', 'silent');

let cluster: Awaited<ReturnType<typeof createCitusDatabase>>;
let database: Database;
let sql: Client;

async function startAll(): Promise<void> {
  if (!hasCitus) return;
  cluster = await createCitusDatabase();
  const { databaseUrl } = cluster;
  await migrate({ databaseUrl, ...schedulingSchema, logger });
  await distributeScheduling(databaseUrl);
  database = openDatabase({ databaseUrl, applicationName: 'test', maxConnections: 2, logger });
  sql = new Client({ connectionString: databaseUrl });
  await sql.connect();
}

async function stopAll(): Promise<void> {
  if (!hasCitus) return;
  await sql.end();
  await database.close();
  await cluster.drop();
}

const createMaterial = async (userId: string, time: Date) => {
  const materialId = randomUUID();
  await sql.query(
    `SELECT scheduling.insert_material($1, $2, 'T', NULL, NULL, 'card', 250, 0, 0, $3::timestamptz, $3::timestamptz)`,
    [userId, materialId, time],
  );
  return materialId;
};

const review = (userId: string, materialId: string, revision: number, time: Date) =>
  sql.query(`INSERT INTO scheduling.reviews VALUES ($1, $2, $3, $4, 4, $5, 250, 1, 1, NULL, 250, 1, 1, $5)`, [
    userId,
    materialId,
    revision,
    randomUUID(),
    time,
  ]);

const counted = async () => {
  const page = { limit: 100, after: undefined };
  const learners = await listLearners(database, { order: 'due', filter: 'all' }, page);
  return learners.map(({ userId, reviewsWeek, due }) => ({ userId, reviewsWeek, due }));
};
