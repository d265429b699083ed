// A statement that the client gives up ends on the server too, and never costs the server more backends than the pool has.
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type PoolClient } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { send } from '../../services/platform/postgres/abandoned-statements.ts';
import { type Database, openDatabase } from '../../services/platform/postgres/database.ts';
import { connected } from '../support/connected.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const MAX_CONNECTIONS = 2;
const NAME = 'given-up';

let place: TestDatabase;
let watcher: Client;
beforeAll(async () => {
  place = await createTestDatabase();
  watcher = new Client({ connectionString: place.databaseUrl });
  await watcher.connect();
});
afterAll(async () => {
  await watcher.end();
  await place.drop();
});

const open = (maxConnections: number) =>
  openDatabase({
    databaseUrl: place.databaseUrl,
    applicationName: NAME,
    maxConnections,
    logger: createLogger('test', 'silent'),
  });

async function backends(): Promise<{ all: number; sleeping: number }> {
  const { rows } = await watcher.query<{ all: number; sleeping: number }>(
    `SELECT count(*)::int AS all, (count(*) FILTER (WHERE state = 'active' AND query LIKE '%pg_sleep%'))::int AS sleeping
     FROM pg_stat_activity WHERE application_name = $1`,
    [NAME],
  );
  return rows[0] ?? { all: 0, sleeping: 0 };
}

/** Ends only by the client's time-out. */
const sleepForLong = (database: Database) =>
  database.transaction(async (transaction) => {
    await transaction.query({ text: 'SET LOCAL statement_timeout = 0', values: [] });
    await transaction.query({ text: 'SELECT pg_sleep(600)', values: [] });
  });

test('a statement that is given up is cancelled, and its place stays taken until then', async () => {
  const database = open(MAX_CONNECTIONS);
  const count = { most: 0, isOver: false };
  const watching = (async () => {
    while (!count.isOver) {
      count.most = Math.max(count.most, (await backends()).all);
      await sleep(1);
    }
  })();
  try {
    const givenUp = await Promise.allSettled([sleepForLong(database), sleepForLong(database)]);
    expect(givenUp).toMatchObject([
      { status: 'rejected', reason: { reason: 'UNAVAILABLE' } },
      { status: 'rejected', reason: { reason: 'UNAVAILABLE' } },
    ]);
    // More than the pool has places, at the moment at which they become free.
    const answered = async () => {
      const asked = database.query({ text: 'SELECT 1', values: [] });
      return (await Promise.allSettled([asked]))[0]?.status === 'fulfilled';
    };
    const ask = async () => {
      while (!(await answered()));
    };
    await Promise.all(Array.from({ length: 8 }, ask));
    // One place is enough for all of them, so that the other statement may still be ending.
    await expect.poll(async () => (await backends()).sleeping).toBe(0);
  } finally {
    count.isOver = true;
    await watching;
    await database.close();
  }
  expect(count.most).toBe(MAX_CONNECTIONS);
});

test('an answer counts that came in time, though this process was too busy to read it', async () => {
  const client = new Client({ connectionString: place.databaseUrl });
  await client.connect();
  // Nothing but the query of a connection from a pool is used.
  const answer = send(client as unknown as PoolClient, { text: 'SELECT 1 AS one', values: [] }, 100);
  // Nothing else runs in this process meanwhile.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
  expect(await answer).toEqual([{ one: 1 }]);
  await client.end();
});

test('a statement that the server itself has ended leaves its connection in use', async () => {
  const database = open(1);
  const pid = async () =>
    (await database.query<{ pid: number }>({ text: 'SELECT pg_backend_pid() AS pid', values: [] }))[0]?.pid;
  const before = await connected(pid);
  // Instead of 1.5 s, so that the client, which waits 2 s, is not the first on a busy machine.
  await database.query({ text: "SET statement_timeout = '100ms'", values: [] });
  const late = database.query({ text: 'SELECT pg_sleep(600)', values: [] });
  await expect(late).rejects.toMatchObject({ reason: 'UNAVAILABLE', cause: { code: '57014' } });
  expect(await pid()).toBe(before);
  await database.close();
});
