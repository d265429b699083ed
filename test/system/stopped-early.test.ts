// A program that is told to stop while it waits for another one that migrates.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MIGRATION_LOCK } from '../../services/platform/postgres/connection.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startProcess } from '../support/processes.ts';
import { argumentsOf, newSecret } from '../support/services.ts';

beforeAll(prepare);
afterAll(stopAll);

test.each(['accounts', 'scheduling', 'reminders', 'start'] as const)(
  '%s stops with exit code 0, at once',
  async (name) => {
    const ports = ['ACCOUNTS', 'SCHEDULING', 'REMINDERS', 'REMINDERS_HTTP', 'REST', 'GRAPHQL'];
    const program = startProcess(process.execPath, argumentsOf(name), {
      env: {
        ...Object.fromEntries(ports.map((port) => [`${port}_PORT`, '0'])),
        DATABASE_URL: database.databaseUrl,
        DATA_DIR: join(folder, 'data'),
        MAIL_DIR: join(folder, 'mail'),
        PUBLIC_URL: 'https://remind.example.com',
        KEY_PEPPER: `1:${newSecret()}`,
      },
    });
    await program.says((output) => output.includes('waiting for the lock of migrations') || undefined);
    // A process that does not stop is killed after 30 s, and has no exit code.
    expect(await program.end('SIGTERM')).toBe(0);
  },
);

let database: TestDatabase;
let holder: Client;
const folder = mkdtempSync(join(tmpdir(), 'srs-stopped-early-'));

async function prepare(): Promise<void> {
  database = await createTestDatabase();
  holder = new Client({ connectionString: database.databaseUrl });
  await holder.connect();
  await holder.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
}

async function stopAll(): Promise<void> {
  await holder.end();
  await database.drop();
  rmSync(folder, { recursive: true });
}
