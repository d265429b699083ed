// What a connection to PostgreSQL goes through: time-outs, deaths in the midst, and transactions that cannot end well.
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { createMetrics } from '../../services/platform/observability/metrics.ts';
import { createTelemetry } from '../../services/platform/observability/telemetry.ts';
import { type Database, openDatabase, type Queryable } from '../../services/platform/postgres/database.ts';
import { connected } from '../support/connected.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

beforeAll(startAll);
afterAll(stopAll);
beforeEach(prepareEach);
afterEach(() => database.close());

describe('a statement', () => {
  test('that waits too long for a lock says to try again later, and so does all that needs the lock', async () => {
    const pid = await pidOf(database);
    await sql.query('BEGIN');
    await sql.query('LOCK TABLE notes');
    try {
      await expect(write(database, 'a')).rejects.toMatchObject({ ...UNAVAILABLE, cause: { code: '55P03' } });
      const within = database.transaction((transaction) => write(transaction, 'b'));
      await expect(within).rejects.toMatchObject({ ...UNAVAILABLE, cause: { code: '55P03' } });
    } finally {
      await sql.query('ROLLBACK');
    }
    expect(await pidOf(database)).toBe(pid);
    await expectSound();
  });

  test('whose connection dies is not answered, and the next has another connection', async () => {
    const pid = await pidOf(database);
    const dying = run(database, 'SELECT pg_terminate_backend(pg_backend_pid())');
    await expect(dying).rejects.toMatchObject(UNAVAILABLE);
    expect(await pidOf(database)).not.toBe(pid);
    await expectSound();
  });

  test('replaces a connection that was lost while idle', async () => {
    const pid = await pidOf(database);
    await kill(pid);
    await expect.poll(() => pidOf(database).catch(() => pid)).not.toBe(pid);
    await expectSound();
  });

  test('that PostgreSQL refuses leaves its connection in use', async () => {
    const pid = await pidOf(database);
    await expect(run(database, 'SELECT 1 / 0')).rejects.toMatchObject({ code: '22012' });
    expect(await pidOf(database)).toBe(pid);
    await expectSound();
  });

  test('that breaks a constraint fails without the row, which can have the texts of a learner', async () => {
    await write(database, 'private');
    const error = await write(database, 'private').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: '23505' });
    expect(JSON.stringify(error)).not.toContain('private');
  });

  test('that has no answer within 2 s gives its connection up', async () => {
    const pid = await pidOf(database);
    proxy.holdStanding();
    await expect(write(database, 'unheard')).rejects.toMatchObject(UNAVAILABLE);
    proxy.release();
    await expect.poll(() => pidOf(database).catch(() => pid)).not.toBe(pid);
    await expectSound();
  });
});

describe('a transaction', () => {
  test('has its connection for itself until it ends', async () => {
    let inside: number | undefined;
    const pids = await database.transaction(async (transaction) => {
      inside = await pidOf(transaction);
      await write(transaction, 'mine');
      // The pool has one connection, so another statement times out.
      await expect(write(database, 'another’s')).rejects.toMatchObject(UNAVAILABLE);
      expect(await notes()).toEqual([]);
      return [await pidOf(transaction), inside];
    });
    expect(pids[0]).toBe(pids[1]);
    expect(await notes()).toEqual(['mine']);
    expect(await pidOf(database)).toBe(inside);
    await expectSound();
  });

  test('whose statements may take longer waits for each of them', async () => {
    const slow = (transaction: Queryable) => run(transaction, 'SELECT 1 AS one FROM pg_sleep(2.2)');
    expect(await database.transaction(slow, { statementTimeoutMs: 20_000 })).toEqual({ one: 1 });
    await expectSound();
  });

  test('that throws leaves nothing, and no trace on its connection', async () => {
    const pid = await pidOf(database);
    const failing = database.transaction(async (transaction) => {
      await write(transaction, 'gone');
      throw new Error('mine');
    });
    await expect(failing).rejects.toThrow('mine');
    expect(await notes()).toEqual([]);
    expect(await pidOf(database)).toBe(pid);
    await expectSound();
  });

  test('that cannot be committed fails as PostgreSQL says, and leaves nothing', async () => {
    const twice = database.transaction(async (transaction) => {
      await write(transaction, 'same');
      await write(transaction, 'same');
      return 'done';
    });
    await expect(twice).rejects.toMatchObject({ code: '23505' });
    expect(await notes()).toEqual([]);
    await expectSound();
  });

  test('whose connection dies before it is committed fails, and the next has another', async () => {
    let pid: number | undefined;
    const dying = database.transaction(async (transaction) => {
      pid = await pidOf(transaction);
      await write(transaction, 'gone');
      await kill(pid);
      return 'done';
    });
    await expect(dying).rejects.toMatchObject(UNAVAILABLE);
    expect(await notes()).toEqual([]);
    expect(await pidOf(database)).not.toBe(pid);
    await expectSound();
  });

  test('whose connection dies fails with its own error where it has one', async () => {
    let pid: number | undefined;
    const dying = database.transaction(async (transaction) => {
      pid = await pidOf(transaction);
      await kill(pid);
      throw new Error('mine');
    });
    await expect(dying).rejects.toThrow('mine');
    expect(await pidOf(database)).not.toBe(pid);
    await expectSound();
  });

  test.each(['committed', 'rolled back'])(
    'that is not heard to be %s gives its connection up',
    async (end) => {
      let pid: number | undefined;
      const unheard = database.transaction(async (transaction) => {
        pid = await pidOf(transaction);
        await write(transaction, 'perhaps');
        proxy.holdStanding();
        if (end === 'rolled back') throw new Error('mine');
      });
      await expect(unheard).rejects.toMatchObject(end === 'committed' ? UNAVAILABLE : { message: 'mine' });
      proxy.release();
      await expect.poll(() => pidOf(database).catch(() => pid)).not.toBe(pid);
      await expectSound();
      if (end === 'rolled back') expect(await notes()).toEqual(['sound']);
    },
  );
});

test('a connection is bounded by the server as well, reckons in UTC, and compiles no statement', async () => {
  const settings = [
    'statement_timeout',
    'lock_timeout',
    'idle_in_transaction_session_timeout',
    'TimeZone',
    'jit',
  ];
  const text = `SELECT ${settings.map((name) => `current_setting('${name}')`).join(" || ', ' || ")} AS told`;
  expect(await run(database, text)).toEqual({ told: '1500ms, 500ms, 3s, UTC, off' });
});

test('a named statement is prepared once, and not at all where sessions are not ours, as behind a pooler', async () => {
  const unprepared = openDatabase({
    databaseUrl: place.databaseUrl,
    applicationName: 'connections',
    maxConnections: 1,
    prepares: false,
    logger: createLogger('test', 'silent'),
  });
  const prepared = async (on: Queryable) => {
    for (const value of [1, 2]) await on.query({ name: 'named', text: 'SELECT $1::int', values: [value] });
    return run<{ names: string[] }>(on, 'SELECT array_agg(name) AS names FROM pg_prepared_statements');
  };
  await pidOf(unprepared);
  expect(await prepared(database)).toEqual({ names: ['named'] });
  expect(await prepared(unprepared)).toEqual({ names: null });
  await unprepared.close();
});

test('a statement whose preparation a pooler gave to another session fails once, and is prepared anew', async () => {
  const named = () =>
    database.query<{ one: number }>({ name: 'one', text: 'SELECT $1::int AS one', values: [1] });
  await named();
  await run(database, 'DEALLOCATE ALL');
  await expect(named()).rejects.toMatchObject({ ...UNAVAILABLE, cause: { code: '26000' } });
  expect(await connected(named)).toEqual([{ one: 1 }]);
});

test('metrics tell how many connections of a pool are idle and busy, and how many wait for one', async () => {
  const metrics = createMetrics();
  const pool = openDatabase({
    databaseUrl: place.databaseUrl,
    applicationName: 'measured',
    maxConnections: 1,
    logger: createLogger('test', 'silent'),
    telemetry: { ...createTelemetry(), metrics },
  });
  await pidOf(pool);
  expect(countsIn(await metrics.render())).toEqual(['idle 1', 'busy 0', 'waiting 0']);
  let waits: Promise<unknown> | undefined;
  await pool.transaction(async () => {
    waits = pidOf(pool);
    expect(countsIn(await metrics.render())).toEqual(['idle 0', 'busy 1', 'waiting 1']);
  });
  await waits;
  await pool.close();
});

// Were the statement waited for, it would be for ten seconds.
test('a pool ends though the server does not answer a statement that was given up', {
  timeout: 9000,
}, async () => {
  const databaseUrl = new URL(place.databaseUrl);
  databaseUrl.host = proxy.target;
  const ending = openDatabase({
    databaseUrl: databaseUrl.href,
    applicationName: 'ending',
    maxConnections: 1,
    logger: createLogger('test', 'silent'),
  });
  const given = ending.transaction(
    async (transaction) => {
      proxy.holdStanding();
      await run(transaction, 'SELECT 1');
    },
    { statementTimeoutMs: 1 },
  );
  await expect(given).rejects.toMatchObject(UNAVAILABLE);
  await ending.close();
  proxy.release();
});

let place: TestDatabase;
let sql: Client;
let proxy: TcpProxy;

async function startAll(): Promise<void> {
  place = await createTestDatabase();
  sql = new Client({ connectionString: place.databaseUrl });
  await sql.connect();
  await sql.query('CREATE TABLE notes (text text UNIQUE DEFERRABLE INITIALLY DEFERRED)');
  proxy = await startTcpProxy(Number(new URL(place.databaseUrl).port));
}

async function stopAll(): Promise<void> {
  await proxy.stop();
  await sql.end();
  await place.drop();
}

/** One connection alone, so that whoever asks next gets what was left. */
let database: Database;

async function prepareEach(): Promise<void> {
  await sql.query('TRUNCATE notes');
  const databaseUrl = new URL(place.databaseUrl);
  databaseUrl.host = proxy.target;
  database = openDatabase({
    databaseUrl: databaseUrl.href,
    applicationName: 'connections',
    maxConnections: 1,
    logger: createLogger('test', 'silent'),
  });
  await pidOf(database);
}

/** Bound so wide that only a hang breaks it. */
const UNAVAILABLE = { reason: 'UNAVAILABLE' };

const run = async <R>(on: Queryable, text: string) => (await on.query<R>({ text, values: [] }))[0];

const pidOf = async (on: Queryable) =>
  (await connected(() => run<{ pid: number }>(on, 'SELECT pg_backend_pid() AS pid')))?.pid;

const write = (on: Queryable, text: string) => run(on, `INSERT INTO notes VALUES ('${text}')`);

const kill = (pid: number | undefined) => sql.query('SELECT pg_terminate_backend($1, 10000)', [pid]);

/** What others see. */
const notes = async () =>
  (await sql.query<{ text: string }>('SELECT text FROM notes ORDER BY text')).rows.map(({ text }) => text);

/** Outside any transaction each statement begins one of its own. */
const isInTransaction = async (on: Queryable) => {
  const begun =
    'SELECT now() <> statement_timestamp() AS earlier, pg_current_xact_id_if_assigned() IS NOT NULL AS wrote';
  const state = await run<{ earlier: boolean; wrote: boolean }>(on, begun);
  return state?.earlier === true || state?.wrote === true;
};

/** "state count" of the connections of a pool, and of those who wait for one, as its metrics tell. */
const countsIn = (text: string) =>
  [
    ...text.matchAll(/^srs_pg_pool_(?:connections|waiting)\{pool="measured"(?:,state="(\w+)")?\} (\d+)$/gm),
  ].map(([, state = 'waiting', count]) => `${state} ${count}`);

/** Whether the one connection that there is can be had, whole. */
async function expectSound(): Promise<void> {
  expect(await isInTransaction(database)).toBe(false);
  await write(database, 'sound');
  expect(await notes()).toContain('sound');
}
