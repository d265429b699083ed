// npm run copy between two databases of one PostgreSQL, which keeps the log that it reads: what it copies, and what it refuses.
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type StoppablePostgres, startStoppablePostgres } from '../faults/support/postgres.ts';
import { ask, createTestDatabase } from '../support/database.ts';
import { type Process, startProcess } from '../support/processes.ts';

const USER = '01900000-0000-7000-8000-000000000001';
const OTHER = '01900000-0000-7000-8000-000000000002';

let server: StoppablePostgres;
let urls: { DATABASE_URL: string; TARGET_DATABASE_URL: string };
const running: Process[] = [];
let databases = 0;

beforeAll(async () => {
  server = await startStoppablePostgres();
  await ask(server.databaseUrl, `ALTER SYSTEM SET wal_level = 'logical'`);
  await server.stop();
  await server.start();
});
beforeEach(async () => {
  urls = { DATABASE_URL: await createDatabase(), TARGET_DATABASE_URL: await createDatabase() };
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((each) => each.end('SIGKILL')));
  await noCopyIsConnected();
  // Its name is taken on the whole server.
  await ask(urls.DATABASE_URL, 'SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots');
});
afterAll(() => server.remove());

async function createDatabase(): Promise<string> {
  databases += 1;
  const url = new URL(server.databaseUrl);
  url.pathname = `/copy_${databases}`;
  await ask(server.databaseUrl, `CREATE DATABASE copy_${databases}`);
  return url.href;
}

const noCopyIsConnected = () =>
  expect
    .poll(() => ask(server.databaseUrl, `SELECT pid FROM pg_stat_activity WHERE application_name = 'copy'`))
    .toEqual([]);

function run(script: string, env: Record<string, string>): Process {
  const { HOME } = process.env;
  const program = startProcess('npm', ['run', '--silent', script], { env: { HOME, ...env }, detached: true });
  running.push(program);
  return program;
}

async function migrate(...databaseUrls: string[]): Promise<void> {
  for (const DATABASE_URL of databaseUrls) expect(await run('migrate', { DATABASE_URL }).ended).toBe(0);
}

const addUser = (databaseUrl: string, userId: string) =>
  ask(
    databaseUrl,
    `INSERT INTO accounts.users (user_id, email, folded_email, plan, time_zone, create_time, update_time)
     VALUES ('${userId}', '${userId}@example.com', '${userId}@example.com', 'free', 'UTC', now(), now())`,
  );
const usersOf = (databaseUrl: string) =>
  ask(databaseUrl, 'SELECT user_id FROM accounts.users ORDER BY user_id');
const following = (program: Process) =>
  program.says((output) => output.includes('Following the changes.') || undefined);
/** With its exit code: the copy has to end by itself. */
const refusal = async (environment: Record<string, string>) => {
  const program = run('copy', environment);
  return [await program.ended, program.output()];
};

test('npm run copy copies what is there and what changes, and ends on Ctrl-C once all is there', async () => {
  await migrate(urls.DATABASE_URL, urls.TARGET_DATABASE_URL);
  await addUser(urls.DATABASE_URL, USER);
  const program = run('copy', urls);
  await following(program);
  await addUser(urls.DATABASE_URL, OTHER);
  await ask(urls.DATABASE_URL, `DELETE FROM accounts.users WHERE user_id = '${USER}'`);
  program.signal('SIGINT');
  expect(await program.ended).toBe(0);
  expect(program.output()).toMatch(/^accounts\.users: 1 row$/m);
  expect(program.output()).toMatch(
    /\nEnding, once everything is copied\. A second Ctrl-C ends at once\.\n(.* changed rows? in .*\n)?Everything is copied, in \d+\.\d s\.\n$/,
  );
  expect(await usersOf(urls.TARGET_DATABASE_URL)).toEqual([{ user_id: OTHER }]);
  expect(await ask(server.databaseUrl, 'SELECT slot_name FROM pg_replication_slots')).toEqual([]);
  // Its rows may be newer by now.
  await ask(urls.TARGET_DATABASE_URL, `UPDATE accounts.users SET plan = 'premium'`);
  expect(await refusal(urls)).toEqual([
    1,
    'TARGET_DATABASE_URL already has users, and nothing is copied over them. Name a database that is migrated and empty.\n',
  ]);
  expect(await ask(urls.TARGET_DATABASE_URL, 'SELECT plan FROM accounts.users')).toEqual([
    { plan: 'premium' },
  ]);
});

test('npm run copy ends at once on a second Ctrl-C', async () => {
  await migrate(urls.DATABASE_URL, urls.TARGET_DATABASE_URL);
  const holder = new Client({ connectionString: urls.DATABASE_URL });
  await holder.connect();
  await holder.query('BEGIN; SELECT pg_current_xact_id()');
  const program = run('copy', urls);
  const waiting = `SELECT wait_event_type AS waits FROM pg_stat_activity
    WHERE application_name = 'copy' AND query LIKE '%pg_create_logical_replication_slot%'`;
  await expect.poll(() => ask(server.databaseUrl, waiting)).toEqual([{ waits: 'Lock' }]);
  const again = setInterval(() => program.signal('SIGINT'), 200);
  expect(await program.ended).not.toBe(0);
  clearInterval(again);
  await holder.end();
  expect(program.output()).not.toContain('Everything is copied');
  expect(program.output().match(/Ending/g)).toHaveLength(1);
});

test('npm run copy names what is wrong by its variable, records nothing, and ends', async () => {
  await migrate(urls.DATABASE_URL);
  const { DATABASE_URL, TARGET_DATABASE_URL } = urls;
  const nowhere = 'postgres://ada:geheim@127.0.0.1:1/x';
  const unreachable =
    'the database 127.0.0.1:1/x cannot be used: connect ECONNREFUSED 127.0.0.1:1; ' +
    'start PostgreSQL, open the way to it, or correct host and port in ';
  expect(await refusal({ DATABASE_URL: nowhere, TARGET_DATABASE_URL })).toEqual([
    1,
    `${unreachable}DATABASE_URL\n`,
  ]);
  expect(await refusal({ DATABASE_URL, TARGET_DATABASE_URL: nowhere })).toEqual([
    1,
    `${unreachable}TARGET_DATABASE_URL\n`,
  ]);
  expect(await refusal({ TARGET_DATABASE_URL: 'host/geheim' })).toEqual([
    1,
    [
      'The configuration is not usable:',
      '  - DATABASE_URL is not set: the PostgreSQL to copy from, as postgres://user:password@host:5432/name',
      '  - TARGET_DATABASE_URL must be a URL such as postgres://user:password@host:5432/name, special characters in the password percent-encoded',
      '',
    ].join('\n'),
  ]);
  const again = DATABASE_URL.replace('127.0.0.1', 'localhost');
  expect(await refusal({ DATABASE_URL, TARGET_DATABASE_URL: again })).toEqual([
    1,
    'TARGET_DATABASE_URL is the database of DATABASE_URL, or another npm run copy uses it. Name another one.\n',
  ]);
  const empty =
    /lacks 0001_[\s\S]*\. If it is the right database, run npm run migrate with it as DATABASE_URL\.\n$/;
  for (const [environment, name] of [
    [urls, 'TARGET_DATABASE_URL'],
    [{ DATABASE_URL: TARGET_DATABASE_URL, TARGET_DATABASE_URL: DATABASE_URL }, 'DATABASE_URL'],
  ] as const) {
    const [code, said] = await refusal(environment);
    expect([code, said]).toEqual([1, expect.stringMatching(empty)]);
    expect(said).toContain(`The schema accounts of ${name} lacks `);
  }
  expect(await ask(server.databaseUrl, 'SELECT slot_name FROM pg_replication_slots')).toEqual([]);
  expect(await ask(DATABASE_URL, 'SELECT pubname FROM pg_publication')).toEqual([]);
});

test('npm run copy does not read a database that another one reads', async () => {
  const third = await createDatabase();
  await migrate(urls.DATABASE_URL, urls.TARGET_DATABASE_URL, third);
  const first = run('copy', urls);
  await following(first);
  expect(await refusal({ ...urls, TARGET_DATABASE_URL: third })).toEqual([
    1,
    'Another npm run copy reads DATABASE_URL. Wait until it has ended.\n',
  ]);
  first.signal('SIGTERM');
  expect(await first.ended).toBe(0);
});

test('npm run copy asks for the log that it needs', async () => {
  const other = await createTestDatabase();
  try {
    await migrate(other.databaseUrl, urls.TARGET_DATABASE_URL);
    expect(await refusal({ ...urls, DATABASE_URL: other.databaseUrl })).toEqual([
      1,
      "The server of DATABASE_URL has wal_level = replica. Run ALTER SYSTEM SET wal_level = 'logical' there, and restart PostgreSQL.\n",
    ]);
  } finally {
    await other.drop();
  }
});
