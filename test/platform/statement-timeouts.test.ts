// A statement that the client gives up ends on the server too, and one that the server ends leaves its connection in use.
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { openDatabase, send } from '../../services/platform/postgres/database.ts';
import { connected } from '../support/connected.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

beforeAll(prepare);
afterAll(stopAll);

test('a statement that is given up gives its place to the next, and ends on the server once that sees it', async () => {
  const database = open();
  // Ends by the client's time-out only.
  const long = database.transaction(async (transaction) => {
    await transaction.query({ text: 'SET LOCAL statement_timeout = 0', values: [] });
    await transaction.query({ text: 'SELECT pg_sleep(600)', values: [] });
  });
  await expect(long).rejects.toMatchObject({ reason: 'UNAVAILABLE' });
  expect(await connected(() => database.query({ text: 'SELECT 1 AS one', values: [] }))).toEqual([
    { one: 1 },
  ]);
  await expect.poll(sleeping).toBe(0);
  await database.close();
});

test('an answer counts that came in time, though this process was too busy to read it', async () => {
  const client = new Client({ connectionString: place.databaseUrl });
  await client.connect();
  const answer = send(client, { text: 'SELECT 1 AS one', values: [] }, 100);
  // Nothing else runs in this process meanwhile.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
  expect(await answer).toEqual([{ one: 1 }]);
  await client.end();
});

test('a statement that the server itself has ended leaves its connection in use', async () => {
  const database = open();
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

const NAME = 'given-up';

let place: TestDatabase;
let watcher: Client;

async function prepare(): Promise<void> {
  place = await createTestDatabase();
  watcher = new Client({ connectionString: place.databaseUrl });
  await watcher.connect();
}

async function stopAll(): Promise<void> {
  await watcher.end();
  await place.drop();
}

async function sleeping(): Promise<number | null> {
  const { rowCount } = await watcher.query(
    `SELECT FROM pg_stat_activity WHERE application_name = $1 AND state = 'active' AND query LIKE '%pg_sleep%'`,
    [NAME],
  );
  return rowCount;
}

const open = () =>
  openDatabase({
    databaseUrl: place.databaseUrl,
    applicationName: NAME,
    maxConnections: 1,
    logger: createLogger('test', 'silent'),
  });
