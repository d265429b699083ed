// Promise: where the way to the database falls silent, no statement goes on unseen, and the pool does not grow beside itself.
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { type Database, openDatabase } from '../../services/platform/postgres/database.ts';
import { makeCertificates } from '../support/certificates.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { recordFigure } from './support/figures.ts';
import { startStoppablePostgres } from './support/postgres.ts';
import { turnTlsOn } from './support/postgres-tls.ts';

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

/** Ends only by the client's time-out. */
const sleepForLong = (on: Database) =>
  on.transaction(async (transaction) => {
    await transaction.query({ text: 'SET LOCAL statement_timeout = 0', values: [] });
    await transaction.query({ text: 'SELECT pg_sleep(600)', values: [] });
  });

async function backends(): Promise<{ all: number; sleeping: number }> {
  const { rows } = await watcher.query<{ all: number; sleeping: number }>(
    `SELECT count(*)::int AS all, (count(*) FILTER (WHERE state = 'active' AND query LIKE '%pg_sleep%'))::int AS sleeping
     FROM pg_stat_activity WHERE application_name = $1`,
    [NAME],
  );
  return rows[0] ?? { all: 0, sleeping: 0 };
}

const until = async (isTrue: () => Promise<boolean>) => {
  while (!(await isTrue())) await sleep(10);
};

test('standing connections fall silent: what ran on them is cancelled by others, and their places are kept 10 s', async () => {
  const asked = Array.from({ length: CONNECTIONS }, () => sleepForLong(database));
  const settled = Promise.allSettled(asked);
  await until(async () => (await backends()).sleeping === CONNECTIONS);
  proxy.holdStanding();
  for (const result of await settled) expect(result).toMatchObject({ reason: { reason: 'UNAVAILABLE' } });
  const givenUp = performance.now();
  await until(async () => (await backends()).sleeping === 0);
  const cancelled = performance.now() - givenUp;
  for (;;) {
    const answer = await database.query({ text: 'SELECT 1', values: [] }).catch(() => undefined);
    if (answer !== undefined) break;
    expect((await backends()).all).toBeLessThanOrEqual(CONNECTIONS);
  }
  const kept = performance.now() - givenUp;
  expect(kept).toBeGreaterThan(9_000);
  // What the client has closed ends on the server once the network says so.
  proxy.release();
  await until(async () => (await backends()).all <= CONNECTIONS);
  recordFigure({
    promise: 'a statement on a silent connection is cancelled after',
    measured: cancelled,
    bar: 1000,
    unit: 'ms',
    over: `${CONNECTIONS} statements`,
  });
  recordFigure({
    promise: 'the place of a silent connection is free again after',
    measured: kept,
    bar: 11_000,
    unit: 'ms',
    over: `${CONNECTIONS} connections`,
  });
});

test('while the database does not answer, no connection is opened beside the pool; afterwards all works again', async () => {
  await Promise.all(
    Array.from({ length: CONNECTIONS }, () => database.query({ text: 'SELECT pg_sleep(0.2)', values: [] })),
  );
  proxy.hold();
  const asked = Array.from({ length: CONNECTIONS }, () => database.query({ text: 'SELECT 1', values: [] }));
  for (const result of await Promise.allSettled(asked)) {
    expect(result).toMatchObject({ reason: { reason: 'UNAVAILABLE' } });
  }
  expect((await backends()).all).toBeLessThanOrEqual(CONNECTIONS);
  proxy.release();
  const released = performance.now();
  await until(() =>
    database.query({ text: 'SELECT 1', values: [] }).then(
      () => true,
      () => false,
    ),
  );
  recordFigure({
    promise: 'after a silent network statements are answered again after',
    measured: performance.now() - released,
    bar: 2000,
    unit: 'ms',
    over: `${CONNECTIONS} connections`,
  });
  expect((await backends()).all).toBeLessThanOrEqual(CONNECTIONS);
});

test('a statement on a connection with TLS is cancelled too', async () => {
  const postgres = await startStoppablePostgres();
  const server = new Client({ connectionString: postgres.databaseUrl });
  await server.connect();
  const certificates = makeCertificates();
  await turnTlsOn(server, certificates);
  certificates.remove();
  const url = new URL(postgres.databaseUrl);
  url.searchParams.set('sslmode', 'no-verify');
  const secured = openDatabase({
    databaseUrl: url.href,
    applicationName: NAME,
    maxConnections: 1,
    logger: createLogger('test', 'silent'),
  });
  const isSecure = () =>
    secured.query<{ ssl: boolean }>({
      text: 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()',
      values: [],
    });
  await until(() =>
    isSecure().then(
      ([row]) => row?.ssl === true,
      () => false,
    ),
  );
  await expect(sleepForLong(secured)).rejects.toMatchObject({ reason: 'UNAVAILABLE' });
  // The only place is free again, long before the 10 s for which it would be kept without a word.
  expect(await isSecure()).toEqual([{ ssl: true }]);
  await secured.close();
  await server.end();
  await postgres.remove();
});
