// DATABASE_URL with all hosts of a cluster: a user's statements enter at the node with the user's rows.
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { NO_TELEMETRY } from '../../services/platform/observability/telemetry.ts';
import { openDatabase } from '../../services/platform/postgres/database.ts';
import { migrate } from '../../services/platform/postgres/migrate.ts';
import { distributeScheduling } from '../../services/scheduling/distribute.ts';
import {
  listDueMaterials,
  listMaterials,
} from '../../services/scheduling/materials/material-lists-repository.ts';
import type { ListedMaterial, MaterialList } from '../../services/scheduling/materials/material-row.ts';
import { openCluster } from '../../services/scheduling/nodes/cluster.ts';
import { schedulingSchema, startScheduling } from '../../services/scheduling/service.ts';
import { deleteUserData } from '../../services/scheduling/user-data/user-data-repository.ts';
import { createCitusDatabase, hasCitus } from '../support/citus.ts';
import { CALL, closeClients, connectScheduling, newUserId } from '../support/scheduling.ts';

const logger = createLogger('test', 'silent');
let cluster: Awaited<ReturnType<typeof createCitusDatabase>>;
let service: Awaited<ReturnType<typeof startScheduling>>;
let here: ReturnType<typeof connectScheduling>;
/** Of the coordinator and of each worker. */
let nodes: Client[];

beforeAll(async () => {
  if (!hasCitus) return;
  cluster = await createCitusDatabase();
  const { databaseUrl, workers } = cluster;
  await migrate({ databaseUrl, ...schedulingSchema, logger });
  await distributeScheduling(databaseUrl);
  nodes = [databaseUrl, ...workers].map((connectionString) => new Client({ connectionString }));
  for (const node of nodes) await node.connect();
  service = await startScheduling({
    config: {
      ...{ databaseUrl, otherHostUrls: workers, logLevel: 'silent', shutdownTimeoutMs: 2000 },
      ...{ host: '127.0.0.1', port: 0, trust: { serviceTokens: [], tls: undefined } },
    },
    logger,
    now: () => new Date(),
  });
  here = connectScheduling(service.port);
});
afterAll(async () => {
  if (!hasCitus) return;
  closeClients(here);
  await service.close(1000);
  for (const node of nodes) await node.end();
  await cluster.drop();
});

/** The index in `nodes` of the node with a user's rows. */
async function nodeOf(userId: string): Promise<number> {
  const [first] = nodes;
  const { rows } = (await first?.query(
    `SELECT nodeport FROM pg_dist_placement JOIN pg_dist_node USING (groupid)
     WHERE shardid = get_shard_id_for_distribution_column('scheduling.materials', $1::uuid)`,
    [userId],
  )) ?? { rows: [] };
  return nodes.findIndex((node) => node.port === rows[0]?.nodeport);
}
async function newUserOn(node: number): Promise<string> {
  for (;;) {
    const userId = newUserId();
    if ((await nodeOf(userId)) === node) return userId;
  }
}
async function learn(userId: string) {
  const { material } = await here.materials.createMaterial({ userId, title: 'T', requestId: '' }, CALL);
  const materialId = material?.materialId ?? '';
  await here.reviews.submitReview({ userId, materialId, quality: 4 }, CALL);
  const preset = { preset: 'SNOOZE_PRESET_ONE_HOUR', timeZone: 'UTC' } as const;
  await here.snoozes.snoozeMaterials({ userId, materialIds: [materialId], ...preset }, CALL);
  return (await here.materials.listMaterials({ userId }, CALL)).materials?.length;
}
/** Connections of the service to a node that were used, but for those with statements about everyone. */
const used = async (node: number) =>
  (
    await nodes[node]?.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'scheduling%'
       AND application_name <> 'scheduling' AND query !~ 'pg_dist_local_group'`,
    )
  )?.rowCount;

/** The cluster as the service opens it: `database` enters at the node of a user, `coordinator` does not. */
async function openNodes() {
  const { databaseUrl, workers } = cluster;
  const coordinator = openDatabase({ databaseUrl, applicationName: 'test', maxConnections: 1, logger });
  const place = { databaseUrl, otherHostUrls: workers };
  const nodes = await openCluster(coordinator, { place, logger, telemetry: NO_TELEMETRY });
  const close = async () => {
    await nodes.close();
    await coordinator.close();
  };
  return { coordinator, database: nodes.database, close };
}

test.skipIf(!hasCitus)('each user enters at the node with the rows, and at no other', async () => {
  const [one, two] = [await newUserOn(1), await newUserOn(2)];
  expect(await learn(one)).toBe(1);
  expect([await used(1), await used(2)]).toEqual([expect.any(Number), 0]);
  expect(await used(1)).toBeGreaterThan(0);
  expect(await learn(two)).toBe(1);
  expect(await used(2)).toBeGreaterThan(0);
});

test.skipIf(!hasCitus)('a user whose rows have just moved is served through the former node', async () => {
  const userId = await newUserOn(1);
  await learn(userId);
  const [coordinator, from, to] = nodes;
  await coordinator?.query(
    `SELECT citus_move_shard_placement(get_shard_id_for_distribution_column('scheduling.materials', $1::uuid),
       $2, $3, $4, $5, shard_transfer_mode => 'block_writes')`,
    [userId, from?.host, from?.port, to?.host, to?.port],
  );
  expect(await nodeOf(userId)).toBe(2);
  expect(await learn(userId)).toBe(2);
});

test.skipIf(!hasCitus)('lists are the same at the node of their user as at the coordinator', async () => {
  const userId = await newUserOn(1);
  for (const type of ['MATERIAL_TYPE_CARD', 'MATERIAL_TYPE_SIMPLE'] as const)
    for (let count = 0; count < 3; count += 1) {
      const { material } = await here.materials.createMaterial({ userId, title: 'T', type }, CALL);
      const materialId = material?.materialId ?? '';
      if (count === 1) await here.reviews.submitReview({ userId, materialId, quality: 4 }, CALL);
      if (count === 2) await here.materials.archiveMaterial({ userId, materialId }, CALL);
    }
  const { coordinator, database, close } = await openNodes();
  const sizes: number[] = [];
  const same = async (
    list: (db: typeof database, after: boolean) => Promise<MaterialList<ListedMaterial>[]>,
  ) => {
    for (const after of [false, true]) {
      const found = await list(database, after);
      expect(await list(coordinator, after)).toEqual(found);
      sizes.push(found[0]?.materials.length ?? 0);
    }
  };
  const asked = { userId, maxRows: 21, textBytes: 4096, isSummary: false };
  const now = new Date();
  for (const state of ['active', 'archived', 'any'] as const)
    for (const type of [undefined, 'card'] as const)
      for (const isDue of [undefined, true, false])
        await same((db, after) => {
          const start = after ? { createTime: now, materialId: userId } : undefined;
          return listMaterials(db, { state, type, isDue, now }, [{ ...asked, after: start }]);
        });
  await same((db, after) => {
    const start = after ? { nextReviewTime: null, materialId: userId } : undefined;
    return listDueMaterials(db, [{ ...asked, asOf: now, after: start }]);
  });
  await close();
  // Of state, type and due: all, due, later.
  expect(sizes.filter((_, index) => index % 2 === 0)).toEqual([
    ...[4, 2, 2, 2, 1, 1],
    ...[2, 2, 0, 1, 1, 0],
    ...[6, 4, 2, 3, 2, 1],
    2,
  ]);
});

test.skipIf(!hasCitus)('of 500 users who are counted together none is left out', async () => {
  const userIds = Array.from({ length: 500 }, newUserId);
  const timeZones = userIds.map(() => 'UTC');
  const { dueCounts } = await here.stats.batchGetDueCounts({ userIds, timeZones }, CALL);
  expect(dueCounts?.map(({ userId }) => userId)).toEqual(userIds);
});

test.skipIf(!hasCitus)('a connection to a node does not grow with the lists that it has read', async () => {
  const userId = await newUserOn(1);
  const { database, close } = await openNodes();
  const memoryKib = async () => {
    const text = `SELECT inet_server_port() AS port, (sum(total_bytes) / 1024)::integer AS kib
                  FROM pg_backend_memory_contexts WHERE $1::uuid IS NOT NULL`;
    const [row] = await database.query<{ port: number; kib: number }>({ text, values: [userId] });
    expect(row?.port).toBe(nodes[1]?.port);
    return row?.kib ?? 0;
  };
  const active = { state: 'active', type: undefined, isDue: undefined, now: new Date() } as const;
  const list = () =>
    listMaterials(database, active, [
      { userId, maxRows: 21, textBytes: 4096, isSummary: false, after: undefined },
    ]);
  for (let index = 0; index < 20; index += 1) await list();
  const beforeKib = await memoryKib();
  for (let index = 0; index < 100; index += 1) await list();
  expect((await memoryKib()) - beforeKib).toBeLessThan(1024);
  await close();
});

test.skipIf(!hasCitus)(
  'a deletion waits for a new material that entered elsewhere, and deletes it',
  async () => {
    const userId = await newUserOn(1);
    const insert = `SELECT scheduling.insert_material($1, $2, 'T', NULL, NULL, 'card', 250, 0, 0, now(), now()) AS done`;
    const [coordinator, , other] = nodes;
    await other?.query('BEGIN');
    await other?.query(insert, [userId, newUserId()]);
    const database = openDatabase({
      ...{ databaseUrl: cluster.databaseUrl, applicationName: 'test', maxConnections: 1, logger },
    });
    const waits = async () => (await nodes[1]?.query(`SELECT FROM pg_locks WHERE NOT granted`))?.rowCount;
    const deleted = database.transaction((transaction) => deleteUserData(transaction, userId, new Date()));
    await expect.poll(waits).toBe(1);
    await other?.query('COMMIT');
    expect(await deleted).toMatchObject({ materials: 1 });
    const refused = await coordinator?.query(insert, [userId, newUserId()]);
    expect(refused?.rows).toEqual([{ done: false }]);
    await database.close();
  },
);
