import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountsSchema } from '../../services/accounts/service.ts';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { createTelemetry } from '../../services/platform/observability/telemetry.ts';
import { type MigrationOptions, migrate } from '../../services/platform/postgres/migrate.ts';
import { openServiceDatabase } from '../../services/platform/postgres/service-database.ts';
import { remindersSchema } from '../../services/reminders/service.ts';
import { schedulingSchema } from '../../services/scheduling/service.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { root } from '../support/processes.ts';
import { argumentsOf } from '../support/services.ts';

beforeAll(prepare);
afterAll(() => database.drop());

test('four that migrate at once apply each file once, and the command finds all done', async () => {
  const all = [accountsSchema, schedulingSchema, remindersSchema].map((schema) => schema.directory);
  const files = all.flatMap((directory) => readdirSync(directory)).map((file) => file.replace(/\.sql$/, ''));
  const migrateAll = async () => {
    const applied: string[] = [];
    for (const schema of [accountsSchema, schedulingSchema, remindersSchema])
      applied.push(...(await migrate({ ...schema, databaseUrl: database.databaseUrl, logger: SILENT })));
    return applied;
  };
  const applied = (await Promise.all([1, 2, 3, 4].map(migrateAll))).flat();
  expect(applied.toSorted()).toEqual(files.toSorted());
  const { stdout } = await promisify(execFile)(process.execPath, argumentsOf('migrate'), {
    cwd: root,
    env: { PATH: process.env.PATH, DATABASE_URL: database.databaseUrl },
  });
  expect(stdout).toMatch(
    /^accounts: up to date\nscheduling: up to date\nreminders: up to date\nApplied 0 migrations in \d+\.\d s\. The services can start on this database\.\n$/,
  );
});

test('no two migrations of a schema have one number, but for two of reminders that are applied already', () => {
  const numbers = [accountsSchema, schedulingSchema, remindersSchema].flatMap(({ schema, directory }) =>
    readdirSync(directory).map((file) => `${schema} ${file.split('_')[0]}`),
  );
  expect(numbers.filter((each, index) => numbers.indexOf(each) !== index)).toEqual(['reminders 0007']);
});

test('what is made needs no extension, so any PostgreSQL will do', async () => {
  const client = new Client({ connectionString: database.databaseUrl });
  await client.connect();
  const { rows } = await client.query('SELECT extname FROM pg_extension');
  await client.end();
  expect(rows).toEqual([{ extname: 'plpgsql' }]);
});

test('a database that does not fold É is refused with the way to make one that does', async () => {
  const name = new URL(database.databaseUrl).pathname.slice(1);
  const client = new Client({ connectionString: database.databaseUrl });
  await client.connect();
  await client.query(
    `CREATE DATABASE ${name}_c TEMPLATE template0 LOCALE_PROVIDER libc LOCALE 'C' ENCODING 'UTF8'`,
  );
  const url = new URL(database.databaseUrl);
  url.pathname = `/${name}_c`;
  const directory = join(import.meta.dirname, '../../services/accounts/migrations');
  const opened = openServiceDatabase({
    place: { databaseUrl: url.href },
    schema: { schema: 'accounts', directory },
    logger: SILENT,
    telemetry: createTelemetry(),
  });
  await expect(opened).rejects.toThrow(/É does not match é.*CREATE DATABASE/);
  await client.query(`DROP DATABASE ${name}_c`);
  await client.end();
});

test('a migration that cannot get the lock of migrations names the holder, and ends', async () => {
  const client = new Client({ connectionString: database.databaseUrl, application_name: 'stuck' });
  await client.connect();
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid, pg_advisory_lock(1936880433)');
  const warned: unknown[] = [];
  const logger = { ...SILENT, warn: (facts: unknown) => void warned.push(facts) };
  const directory = join(import.meta.dirname, '../../services/accounts/migrations');
  const options = { databaseUrl: database.databaseUrl, schema: 'not_there_yet', directory, logger };
  await expect(migrate({ ...options, lockWaitMs: 400 } as MigrationOptions)).rejects.toThrow(
    `the lock of migrations is still held by stuck, process ${rows[0].pid}. If no migration runs, a pooler`,
  );
  expect(warned).toEqual([{ holder: `stuck, process ${rows[0].pid}` }]);
  await client.end();
});

test('a change may take longer than a statement of its database may', async () => {
  const client = new Client({ connectionString: database.databaseUrl });
  await client.connect();
  const name = new URL(database.databaseUrl).pathname.slice(1);
  await client.query(`ALTER DATABASE ${name} SET statement_timeout = '1s'`);
  const directory = mkdtempSync(join(tmpdir(), 'srs-migrate-'));
  writeFileSync(join(directory, '0001_slow.sql'), '-- Up Migration\nSELECT pg_sleep(1.5);\n');
  const options = { databaseUrl: database.databaseUrl, schema: 'slow', directory };
  expect(await migrate({ ...options, logger: SILENT })).toEqual(['0001_slow']);
  await client.query(`ALTER DATABASE ${name} RESET statement_timeout`);
  await client.end();
  rmSync(directory, { recursive: true });
});

test('a change that meets a lock lets others pass, and is made once the lock is gone', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'srs-migrate-'));
  const options = { databaseUrl: database.databaseUrl, schema: 'hot', directory, logger: SILENT };
  writeFileSync(join(directory, '0001_make.sql'), '-- Up Migration\nCREATE TABLE hot.rows (id integer);\n');
  await migrate(options);
  writeFileSync(
    join(directory, '0002_change.sql'),
    '-- Up Migration\nALTER TABLE hot.rows ADD COLUMN x integer;\n',
  );
  const writer = new Client({ connectionString: database.databaseUrl });
  await writer.connect();
  await writer.query('BEGIN');
  await writer.query('INSERT INTO hot.rows VALUES (1)');
  const watcher = new Client({ connectionString: database.databaseUrl });
  await watcher.connect();
  const waits = async () =>
    (
      await watcher.query(
        `SELECT FROM pg_stat_activity WHERE application_name = 'hot-migrate' AND wait_event_type = 'Lock'`,
      )
    ).rowCount;
  const migrated = migrate(options);
  migrated.catch(() => {});
  // It has waited, given up, and waits again.
  for (const expected of [1, 0, 1]) await expect.poll(waits, { interval: 10 }).toBe(expected);
  await writer.query('COMMIT');
  expect(await migrated).toEqual(['0002_change']);
  await writer.end();
  await watcher.end();
  rmSync(directory, { recursive: true });
});

let database: TestDatabase;

async function prepare(): Promise<void> {
  database = await createTestDatabase();
}

const SILENT = createLogger('test', 'silent');
