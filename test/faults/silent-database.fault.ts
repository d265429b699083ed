// Promise: where the way to the database falls silent, statements fail in time, end on the server by its own time-out, and all works
// again soon after.
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { type Database, openDatabase } from '../../services/platform/postgres/database.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { recordFigure } from './support/figures.ts';

const CONNECTIONS = 16;
const NAME = 'given-up';

let place: TestDatabase;
let proxy: TcpProxy;
let watcher: Client;
let database: Database;
beforeAll(async () => {
  place = await createTestDatabase();
  const url = new URL(place.databaseUrl);
  proxy = await startTcpProxy(Number(url.port));
  url.port = `${proxy.port}`;
  watcher = new Client({ connectionString: place.databaseUrl });
  await watcher.connect();
  database = openDatabase({
    databaseUrl: url.href,
    applicationName: NAME,
    maxConnections: CONNECTIONS,
    logger: createLogger('test', 'silent'),
  });
});
afterEach(() => proxy.release());
afterAll(async () => {
  await database?.close();
  await watcher?.end();
  await proxy?.stop();
  await place?.drop();
});

async function sleeping(): Promise<number | null> {
  const { rowCount } = await watcher.query(
    `SELECT FROM pg_stat_activity WHERE application_name = $1 AND state = 'active' AND query LIKE '%pg_sleep%'`,
    [NAME],
  );
  return rowCount;
}
const until = async (isTrue: () => Promise<boolean>) => {
  while (!(await isTrue())) await sleep(10);
};
const answers = () =>
  database.query({ text: 'SELECT 1', values: [] }).then(
    () => true,
    () => false,
  );

test('standing connections fall silent: their statements fail and end on the server, and new connections serve', async () => {
  const asked = Array.from({ length: CONNECTIONS }, () =>
    database.query({ text: 'SELECT pg_sleep(600)', values: [] }),
  );
  const settled = Promise.allSettled(asked);
  await until(async () => (await sleeping()) === CONNECTIONS);
  const silent = performance.now();
  proxy.holdStanding();
  const ended = until(async () => (await sleeping()) === 0).then(() => performance.now() - silent);
  for (const result of await settled) expect(result).toMatchObject({ reason: { reason: 'UNAVAILABLE' } });
  await until(answers);
  recordFigure({
    promise: 'a statement on a silent connection has ended on the server after',
    measured: await ended,
    bar: 2000,
    unit: 'ms',
    over: `${CONNECTIONS} statements`,
  });
  recordFigure({
    promise: 'where standing connections fall silent, statements are answered again after',
    measured: performance.now() - silent,
    bar: 4000,
    unit: 'ms',
    over: `${CONNECTIONS} connections`,
  });
});

test('while the database does not answer, statements fail; afterwards all works again', async () => {
  proxy.hold();
  const asked = Array.from({ length: CONNECTIONS }, () => database.query({ text: 'SELECT 1', values: [] }));
  for (const result of await Promise.allSettled(asked)) {
    expect(result).toMatchObject({ reason: { reason: 'UNAVAILABLE' } });
  }
  proxy.release();
  const released = performance.now();
  await until(answers);
  recordFigure({
    promise: 'after a silent network statements are answered again after',
    measured: performance.now() - released,
    bar: 2000,
    unit: 'ms',
    over: `${CONNECTIONS} connections`,
  });
});
