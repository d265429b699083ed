// npm run copy from one PostgreSQL in use to another: what is written before, while and after it copies is there at the end.
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { accountsSchema } from '../../services/accounts/service.ts';
import { startEmbeddedPostgres } from '../../services/embedded-postgres/embedded-postgres.ts';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { queryableOf } from '../../services/platform/postgres/connection.ts';
import { migrate } from '../../services/platform/postgres/migrate.ts';
import { remindersSchema } from '../../services/reminders/core.ts';
import { lockCount } from '../../services/scheduling/learners/recount-repository.ts';
import { schedulingSchema } from '../../services/scheduling/service.ts';
import { ask, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { makePostgresFolder } from '../support/postgres-folder.ts';
import { type Process, startProcess } from '../support/processes.ts';
import { argumentsOf } from '../support/services.ts';

const SCHEMAS = [accountsSchema, schedulingSchema, remindersSchema];
const ADA = '01a1fca5-0631-71fd-b622-000000000001';
const BOB = '01a1fca5-0631-71fd-b622-000000000002';
const EVE = '01a1fca5-0631-71fd-b622-000000000003';
const NOW = '2026-11-23T12:00:00Z';
const POLL = { timeout: inject('patienceMs') };

const folder = makePostgresFolder('srs-copy-');
let server: Awaited<ReturnType<typeof startEmbeddedPostgres>>;
let source: Client;
let target: Client;
let targetDatabase: TestDatabase;
let started: Process[] = [];

async function connect(connectionString: string): Promise<Client> {
  const client = new Client({ connectionString });
  await client.connect();
  return client;
}

async function migrated(databaseUrl: string): Promise<Client> {
  const logger = createLogger('test', 'silent');
  for (const schema of SCHEMAS) await migrate({ databaseUrl, ...schema, logger });
  return connect(databaseUrl);
}

beforeAll(async () => {
  const start = () => startEmbeddedPostgres({ directory: folder.directory, durable: false });
  server = await start();
  await ask(server.databaseUrl, "ALTER SYSTEM SET wal_level = 'logical'");
  await server.stop();
  server = await start();
  source = await migrated(server.databaseUrl);
});
afterAll(async () => {
  await source?.end();
  await server?.stop();
  folder.remove();
});

beforeEach(async () => {
  targetDatabase = await createTestDatabase();
  target = await migrated(targetDatabase.databaseUrl);
  await source.query(
    `DELETE FROM accounts.users; DELETE FROM accounts.pepper_checks; DELETE FROM scheduling.materials;
     DELETE FROM reminders.push_subscriptions`,
  );
  await addUser(ADA, 'ada@example.com');
  await addMaterials(ADA, 1, 3);
});
afterEach(async () => {
  for (const program of started) await program.end('SIGKILL');
  started = [];
  await target.end();
  await targetDatabase.drop();
});

const addUser = (userId: string, email: string) =>
  source.query(
    `INSERT INTO accounts.users (user_id, email, folded_email, plan, time_zone, create_time, update_time)
     VALUES ($1, $2::text, $2::text, 'free', 'UTC', $3::timestamptz, $3::timestamptz)`,
    [userId, email, NOW],
  );

const materialId = (index: number) => `01a1fca5-0631-71fd-b622-${`${index}`.padStart(12, '0')}`;

/** Those from `first` to `last`, with their search texts, which refer to them. */
const addMaterials = (userId: string, first: number, last: number) =>
  source.query(
    `WITH m AS (INSERT INTO scheduling.materials
       (user_id, material_id, title, type, ease_factor_hundredths, interval_days, repetitions, create_time, update_time)
       SELECT $1::uuid, ('01a1fca5-0631-71fd-b622-' || lpad(n::text, 12, '0'))::uuid, 'It''s "' || n || E'"\\n\\\\', 'simple',
         250, 0, 0, $4::timestamptz, $4::timestamptz
       FROM generate_series($2::integer, $3::integer) AS n RETURNING *)
     INSERT INTO scheduling.material_search (user_id, material_id, create_time, title, content, source_url)
     SELECT user_id, material_id, create_time, lower(title), '', '' FROM m`,
    [userId, first, last, NOW],
  );

function copy(): Process {
  const env = { DATABASE_URL: server.databaseUrl, TARGET_DATABASE_URL: targetDatabase.databaseUrl };
  const program = startProcess(process.execPath, argumentsOf('copy'), { env });
  started.push(program);
  return program;
}

const isFollowing = (program: Process) =>
  program.says((output) => /Following the changes/.test(output) || undefined);

/** For a lock that another connection to the target holds. */
const copyWaitsFor = (lock: Client) =>
  expect.poll(async () => (await lock.query(COPY_WAITS)).rowCount, POLL).toBe(1);
const COPY_WAITS = `
  SELECT FROM pg_locks JOIN pg_stat_activity USING (pid)
  WHERE NOT granted AND application_name = 'copy' AND datname = current_database()`;

/** Resolves to its exit code and output. */
async function finish(program: Process) {
  program.signal('SIGTERM');
  return [await program.ended, program.output()];
}

/** Every row of every table of the services, as text. */
async function rowsOf(client: Client): Promise<Record<string, string[]>> {
  const { rows: tables } = await client.query<{ name: string }>(
    `SELECT schemaname || '.' || tablename AS name FROM pg_tables
     WHERE schemaname IN ('accounts', 'scheduling', 'reminders') AND tablename <> 'schema_migrations' ORDER BY 1`,
  );
  const found: Record<string, string[]> = {};
  for (const { name } of tables) {
    const { rows } = await client.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t ORDER BY 1`);
    found[name] = rows.map(({ row }) => row);
  }
  return found;
}

const COPIED = [0, expect.stringMatching(/\nEverything is copied, in \d+\.\d s\.\n$/)];

test('rows that are added, changed and deleted while it follows end as they are in the source', async () => {
  await addMaterials(ADA, 4, 5001);
  await source.query("INSERT INTO accounts.pepper_checks VALUES ('1', 'x')");
  const program = copy();
  await isFollowing(program);
  expect(program.output()).toMatch(/^accounts\.users: 1 row\n[\s\S]*^scheduling\.materials: 5,001 rows\n/m);
  await addUser(BOB, 'bob@example.com');
  await addMaterials(BOB, 6000, 6001);
  await source.query(
    "UPDATE accounts.users SET email = 'Ada@Example.com', first_name = 'Ada' WHERE user_id = $1",
    [ADA],
  );
  await source.query('DELETE FROM scheduling.materials WHERE material_id = ANY($1)', [
    [materialId(1), materialId(2)],
  ]);
  await source.query("UPDATE accounts.pepper_checks SET pepper_version = '2'");
  // It tells of each second by itself.
  const reported = (output: string) =>
    [...output.matchAll(/^(\d+) changed rows? in \d+\.\d s(, and no more)?$/gm)].map(([, rows]) =>
      Number(rows),
    );
  await program.says((output) => (reported(output).length > 0 && reported(output).at(-1) === 0) || undefined);
  expect(reported(program.output()).reduce((sum, rows) => sum + rows, 0)).toBe(12);
  expect(await finish(program)).toEqual(COPIED);
  const copied = await rowsOf(target);
  expect(copied).toEqual(await rowsOf(source));
  expect(copied['scheduling.materials']).toHaveLength(5001);
  expect(copied['scheduling.material_search']).toHaveLength(5001);
});

test('at its end it leaves neither slot nor publication in the source', async () => {
  const program = copy();
  await isFollowing(program);
  const left = async () =>
    (
      await source.query<{ left: number }>(
        'SELECT (SELECT count(*) FROM pg_replication_slots)::int + (SELECT count(*) FROM pg_publication)::int AS left',
      )
    ).rows[0]?.left;
  expect(await left()).toBe(2);
  expect(await finish(program)).toEqual(COPIED);
  expect(await left()).toBe(0);
});

test('it begins while the learners of the source are counted', async () => {
  await source.query('BEGIN');
  expect(await lockCount(queryableOf(source))).toBe(true);
  const program = copy();
  await isFollowing(program);
  await source.query('COMMIT');
  expect(await finish(program)).toEqual(COPIED);
});

test('a table that is truncated meanwhile ends it with what to do', async () => {
  await source.query("INSERT INTO accounts.pepper_checks VALUES ('1', 'x')");
  const program = copy();
  await isFollowing(program);
  await source.query('TRUNCATE accounts.pepper_checks');
  expect(await program.ended).toBe(1);
  expect(program.output()).toMatch(
    /\nA table of DATABASE_URL was truncated, which cannot be followed\. Run SELECT pg_drop_replication_slot\('srs_copy'\) there, and copy to another database that is migrated and empty\.\n$/,
  );
  await source.query("SELECT pg_drop_replication_slot('srs_copy')");
});

test('what is written while the first copy is under way is not lost', async () => {
  const lock = await connect(targetDatabase.databaseUrl);
  await lock.query('BEGIN; LOCK TABLE scheduling.materials');
  const program = copy();
  await copyWaitsFor(lock);
  await addMaterials(ADA, 10, 11);
  await source.query("UPDATE accounts.users SET first_name = 'Ada' WHERE user_id = $1", [ADA]);
  await source.query('DELETE FROM scheduling.materials WHERE material_id = $1', [materialId(1)]);
  await lock.query('COMMIT');
  await lock.end();
  await isFollowing(program);
  expect(await finish(program)).toEqual(COPIED);
  const copied = await rowsOf(target);
  expect(copied).toEqual(await rowsOf(source));
  expect(copied['scheduling.materials']).toHaveLength(4);
});

test('started again after a kill, it also deletes what was deleted meanwhile', async () => {
  const killed = copy();
  await isFollowing(killed);
  await killed.end('SIGKILL');
  await source.query('DELETE FROM scheduling.materials WHERE material_id = $1', [materialId(1)]);
  await source.query("UPDATE accounts.users SET first_name = 'Ada' WHERE user_id = $1", [ADA]);
  await addMaterials(ADA, 4, 4);
  const program = copy();
  await isFollowing(program);
  expect(await finish(program)).toEqual(COPIED);
  const copied = await rowsOf(target);
  expect(copied).toEqual(await rowsOf(source));
  expect(copied['scheduling.materials']).toHaveLength(3);
});

test('a user who is deleted and made again with the same address does not stop it', async () => {
  const program = copy();
  await isFollowing(program);
  await source.query('BEGIN');
  await source.query('DELETE FROM accounts.users WHERE user_id = $1', [ADA]);
  await addUser(BOB, 'ada@example.com');
  await source.query('COMMIT');
  expect(await finish(program)).toEqual(COPIED);
  expect(await rowsOf(target)).toEqual(await rowsOf(source));
});

const swapAddresses = () =>
  source.query(`BEGIN;
    UPDATE accounts.users SET folded_email = 'free' WHERE folded_email = 'ada@example.com';
    UPDATE accounts.users SET folded_email = 'ada@example.com' WHERE folded_email = 'bob@example.com';
    UPDATE accounts.users SET folded_email = 'bob@example.com' WHERE folded_email = 'free';
    COMMIT`);

test('an address that passes from one user to another does not stop it, in whatever order', async () => {
  await addUser(BOB, 'bob@example.com');
  const program = copy();
  await isFollowing(program);
  await swapAddresses();
  expect(await finish(program)).toEqual(COPIED);
  expect(await rowsOf(target)).toEqual(await rowsOf(source));
});

test('a row with an address that another row gave up after the changes of the round is copied', async () => {
  await addUser(BOB, 'bob@example.com');
  const program = copy();
  await isFollowing(program);
  const lock = await connect(targetDatabase.databaseUrl);
  await lock.query('BEGIN; LOCK TABLE accounts.users');
  await source.query("UPDATE accounts.users SET first_name = 'Ada' WHERE user_id = $1", [ADA]);
  await copyWaitsFor(lock);
  // More than a round takes: what follows is in the next one, but already there to be read.
  await source.query('BEGIN');
  await source.query("UPDATE accounts.users SET first_name = 'Bob' WHERE user_id = $1", [BOB]);
  await addMaterials(ADA, 10, 5010);
  await source.query('COMMIT');
  await source.query("UPDATE accounts.users SET folded_email = 'eve@example.com' WHERE user_id = $1", [ADA]);
  await source.query("UPDATE accounts.users SET folded_email = 'ada@example.com' WHERE user_id = $1", [BOB]);
  await lock.query('COMMIT');
  await lock.end();
  expect(await finish(program)).toEqual(COPIED);
  expect(await rowsOf(target)).toEqual(await rowsOf(source));
});

const subscribe = (userId: string, subscriptionId: string) =>
  source.query(
    "INSERT INTO reminders.push_subscriptions VALUES ($1, $2, 'https://push.example.com/1', 'key', 'secret', $3)",
    [userId, subscriptionId, NOW],
  );

test('started again, it copies users and push subscriptions with the addresses of others that are gone', async () => {
  await addUser(BOB, 'bob@example.com');
  await subscribe(ADA, materialId(1));
  await subscribe(BOB, materialId(2));
  const killed = copy();
  await isFollowing(killed);
  await killed.end('SIGKILL');
  await source.query('DELETE FROM accounts.users WHERE user_id = $1', [ADA]);
  await addUser(EVE, 'ada@example.com');
  await source.query('DELETE FROM reminders.push_subscriptions WHERE user_id = $1', [ADA]);
  await subscribe(ADA, materialId(3));
  const program = copy();
  await isFollowing(program);
  expect(await finish(program)).toEqual(COPIED);
  expect(await rowsOf(target)).toEqual(await rowsOf(source));
});

test('a commit that is in the log, and that others do not see yet, is awaited', async () => {
  const program = copy();
  await isFollowing(program);
  const set = async (standby: string) => {
    await source.query(`ALTER SYSTEM SET synchronous_standby_names = '${standby}'`);
    await source.query('SELECT pg_reload_conf()');
  };
  // A commit then waits for a standby that there is none of: it is in the log, and invisible. Not the first ones: the server reads
  // its settings a moment later.
  await set('nobody');
  const writer = await connect(server.databaseUrl);
  let isWaiting = false;
  const write = async () => {
    do await writer.query("SET synchronous_commit = 'on'; UPDATE accounts.users SET first_name = 'Ada'");
    while (!isWaiting);
  };
  const written = write();
  const admin = await connect(server.databaseUrl);
  const isTrue = async (condition: string) =>
    (await admin.query<{ found: boolean }>(`SELECT ${condition} AS found`)).rows[0]?.found;
  const activity = (condition: string) => `EXISTS (SELECT FROM pg_stat_activity WHERE ${condition})`;
  try {
    await expect.poll(() => isTrue(activity("wait_event = 'SyncRep'")), POLL).toBe(true);
    isWaiting = true;
    const { rows } = await admin.query<{ lsn: string }>('SELECT pg_current_wal_flush_lsn()::text AS lsn');
    const hasGoneOn = `(SELECT confirmed_flush_lsn >= '${rows[0]?.lsn}' FROM pg_replication_slots)`;
    // It looks again and again for what it has read in the log.
    const looks = activity("application_name = 'copy' AND query LIKE '%pg_snapshot_xip%'");
    await expect.poll(() => isTrue(`${looks} OR ${hasGoneOn}`), { ...POLL, interval: 1 }).toBe(true);
  } finally {
    isWaiting = true;
    await set('');
    await written;
    await writer.end();
    await admin.end();
  }
  expect(await finish(program)).toEqual(COPIED);
  const copied = await rowsOf(target);
  expect(copied).toEqual(await rowsOf(source));
  expect(copied['accounts.users']?.[0]).toContain('Ada');
});
