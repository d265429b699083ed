import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogger } from '../../services/platform/logger.ts';
import { openDatabase } from '../../services/platform/postgres.ts';
import { requireUsableDatabase } from '../../services/platform/usable-database.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const runMigrate = () =>
  promisify(execFile)(process.execPath, [join(import.meta.dirname, '../../services/migrate.ts')], {
    env: { PATH: process.env.PATH, DATABASE_URL: database.databaseUrl },
  });

test('four processes that migrate at once apply each file once, and a fifth finds all done', async () => {
  const outputs = (await Promise.all([1, 2, 3, 4].map(runMigrate))).map(({ stdout }) => stdout);
  const applied = outputs.join('').match(/applied/g) ?? [];
  expect(applied.length).toBe(2);
  expect((await runMigrate()).stdout).toBe('accounts: up to date\nscheduling: up to date\n');
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
  const logger = createLogger('test', 'silent');
  const unfit = openDatabase({ databaseUrl: url.href, applicationName: 'test', maxConnections: 1, logger });
  await expect(requireUsableDatabase(unfit)).rejects.toThrow(/É does not match é.*CREATE DATABASE/);
  await unfit.close();
  await client.query(`DROP DATABASE ${name}_c`);
  await client.end();
});
