// The same requests to one PostgreSQL and to a distributed cluster get the same answers.
import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { migrate } from '../../services/platform/postgres/migrate.ts';
import { distributeScheduling } from '../../services/scheduling/distribute.ts';
import { schedulingSchema, startScheduling } from '../../services/scheduling/service.ts';
import { createCitusDatabase, hasCitus } from '../support/citus.ts';
import { createMigratedDatabase, type TestDatabase } from '../support/database.ts';
import { CALL, closeClients, connectScheduling, newUserId } from '../support/scheduling.ts';

beforeAll(startAll);
afterAll(stopAll);

test.skipIf(!hasCitus)('users of any node get the answers of one PostgreSQL', async () => {
  for (let user = 0; user < 10; user += 1) {
    const userId = newUserId();
    expect(await learn(cluster, userId)).toEqual(await learn(plain, userId));
  }
});

test.skipIf(!hasCitus)('of 500 users who are counted together none is left out', async () => {
  const userIds = Array.from({ length: 500 }, newUserId);
  const timeZones = userIds.map(() => 'UTC');
  const { dueCounts } = await cluster.stats.batchGetDueCounts({ userIds, timeZones }, CALL);
  expect(dueCounts?.map(({ userId }) => userId)).toEqual(userIds);
});

test.skipIf(!hasCitus)('a user whose rows have just moved is served', async () => {
  const { materials, databaseUrl } = cluster;
  const userId = newUserId();
  await materials.createMaterial({ userId, title: 'T' }, CALL);
  const sql = new Client({ connectionString: databaseUrl });
  await sql.connect();
  await sql.query(
    `SELECT citus_move_shard_placement(shardid, f.nodename, f.nodeport, t.nodename, t.nodeport, 'block_writes')
     FROM pg_dist_placement p JOIN pg_dist_node f USING (groupid)
     JOIN pg_dist_node t ON t.groupid > 0 AND t.groupid <> f.groupid
     WHERE shardid = get_shard_id_for_distribution_column('scheduling.materials', $1::uuid)`,
    [userId],
  );
  await sql.end();
  await materials.createMaterial({ userId, title: 'U' }, CALL);
  const { materials: listed } = await materials.listMaterials({ userId }, CALL);
  expect(listed?.map(({ title }) => title).toSorted()).toEqual(['T', 'U']);
});

const NOON = Date.parse('2026-03-31T12:00:00Z');
/** Each request has a second of its own, which orders what it makes. */
const clock = { ms: NOON };
const logger = createLogger('test', 'silent');
let cluster: System & { workers: string[] };
let plain: System;

async function startAll(): Promise<void> {
  if (!hasCitus) return;
  const [citus, postgres] = [await createCitusDatabase(), await createMigratedDatabase()];
  await migrate({ databaseUrl: citus.databaseUrl, ...schedulingSchema, logger });
  await distributeScheduling(citus.databaseUrl);
  cluster = { ...citus, ...(await serve(citus.databaseUrl)) };
  plain = { ...postgres, ...(await serve(postgres.databaseUrl)) };
}

async function stopAll(): Promise<void> {
  if (!hasCitus) return;
  for (const system of [cluster, plain]) {
    await system.close();
    await system.drop();
  }
}

type System = TestDatabase & Awaited<ReturnType<typeof serve>>;

async function serve(databaseUrl: string) {
  const service = await startScheduling({
    config: {
      databaseUrl,
      logLevel: 'silent',
      shutdownTimeoutMs: 2000,
      host: '127.0.0.1',
      port: 0,
      trust: { serviceTokens: [], tls: undefined },
    },
    logger,
    now: () => new Date(clock.ms),
  });
  const clients = connectScheduling(service.port);
  const close = async () => {
    closeClients(clients);
    await service.close(1000);
  };
  return { ...clients, close };
}

/** What a learner does and is told, with the ids of what was made replaced by their order. */
async function learn({ materials, reviews, snoozes, stats, userData }: System, userId: string) {
  const ids: string[] = [];
  const answers: unknown[] = [];
  clock.ms = NOON;
  const told = async (answer: Promise<unknown>) => {
    clock.ms += 1000;
    answers.push(await answer.catch(({ reason }: { reason?: string }) => ({ reason })));
  };
  for (const [index, type] of (['MATERIAL_TYPE_CARD', 'MATERIAL_TYPE_SIMPLE'] as const).entries())
    for (const title of ['Émeu', 'Quokka', 'Quoll']) {
      clock.ms += 1000;
      const { material } = await materials.createMaterial({ userId, title, type }, CALL);
      ids.push(material?.materialId ?? '');
      const materialId = ids.at(-1) ?? '';
      if (title === 'Quokka')
        await told(
          reviews.submitReview({ userId, materialId, quality: 4 + index, requestId: `${index}` }, CALL),
        );
      if (title === 'Quoll') await told(materials.archiveMaterial({ userId, materialId }, CALL));
    }
  const [first = '', second = ''] = ids;
  await told(reviews.submitReview({ userId, materialId: second, quality: 4, requestId: '0' }, CALL));
  await told(reviews.submitReview({ userId, materialId: randomUUID(), quality: 4 }, CALL));
  const preset = { preset: 'SNOOZE_PRESET_ONE_HOUR', timeZone: 'UTC' } as const;
  await told(snoozes.snoozeMaterials({ userId, materialIds: [first], ...preset }, CALL));
  await told(materials.listMaterials({ userId }, CALL));
  await told(materials.listMaterials({ userId, query: 'quo' }, CALL));
  await told(materials.listMaterials({ userId, query: 'éme' }, CALL));
  await told(materials.listDueMaterials({ userId }, CALL));
  await told(reviews.listReviews({ userId, materialId: second }, CALL));
  await told(stats.batchGetDueCounts({ userIds: [userId], timeZones: ['UTC'] }, CALL));
  await told(userData.deleteUserData({ userId }, CALL));
  await told(materials.listMaterials({ userId }, CALL));
  const text = JSON.stringify(answers);
  const made = [...new Set(text.match(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g))];
  return made.reduce((left, id, index) => left.replaceAll(id, `id ${index}`), text);
}
