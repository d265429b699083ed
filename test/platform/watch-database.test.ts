// When a service says that its database is lost: never while statements succeed, however busy it is.
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { type Database, openDatabase, type Queryable } from '../../services/platform/postgres/database.ts';
import { watchDatabase } from '../../services/platform/postgres/service-database.ts';
import { connected } from '../support/connected.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

beforeAll(prepare);
afterAll(() => place.drop());
beforeEach(prepareEach);
afterEach(cleanUp);

test('while others’ statements succeed it is not asked', async () => {
  await ask(database);
  const before = database.answers();
  look();
  await ask(database);
  expect(database.answers()).toBe(before + 1);
  // That was one; now there is none.
  look();
  look();
  await ask(database);
  expect(database.answers()).toBe(before + 3);
});

test('a database without a free connection is not lost if a statement succeeds meanwhile', async () => {
  await database.transaction(async (transaction) => {
    // The first finds the answer to BEGIN, the second asks.
    look();
    look();
    // It waits for the connection like this one, and not longer.
    const waiting = ask(database);
    await ask(transaction);
    await expect(waiting).rejects.toMatchObject({ reason: 'UNAVAILABLE' });
    await turn();
  });
  expect(told).toEqual([]);
});

test('a database is lost if nothing succeeds meanwhile, and back at the next look that finds an answer', async () => {
  await database.transaction(async () => {
    look();
    await expect.poll(() => told).toEqual([false]);
  });
  await ask(database);
  look();
  await expect.poll(() => told).toEqual([false, true]);
});

let place: TestDatabase;

async function prepare(): Promise<void> {
  place = await createTestDatabase();
}

/** With one connection, so that statements are sent in the order in which they are asked for. */
let database: Database;
let told: boolean[];
let stop: () => void;

async function prepareEach(): Promise<void> {
  const logger = createLogger('test', 'silent');
  const options = { databaseUrl: place.databaseUrl, applicationName: 'watched', maxConnections: 1, logger };
  database = openDatabase(options);
  await connected(() => ask(database));
  // It looks when the test says so.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  told = [];
  stop = watchDatabase(database, (isAnswering) => void told.push(isAnswering));
}

async function cleanUp(): Promise<void> {
  stop();
  vi.useRealTimers();
  await database.close();
}

const ask = (on: Queryable) => on.query({ text: 'SELECT 1', values: [] });

const look = () => vi.advanceTimersByTime(500);
