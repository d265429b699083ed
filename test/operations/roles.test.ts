// Roles of the database as docs/operations has them made, used and replaced.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { MaterialServiceDefinition } from '../../generated/scheduling/v1/MaterialService.ts';
import { clientsOf } from '../../services/platform/grpc/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { root, startProcess } from '../support/processes.ts';
import { connectReminders } from '../support/reminders-client.ts';
import { startService } from '../support/services.ts';

const PASSWORD = 'p'.repeat(32);
const USER_ID = '00000000-0000-7000-8000-000000000001';
const own = randomBytes(6).toString('hex');
const [old, owner, services] = [`old_${own}`, `owner_${own}`, `services_${own}`];

let database: TestDatabase;
const sql = async (text: string): Promise<unknown[]> => {
  const client = new Client({ connectionString: database.databaseUrl });
  await client.connect();
  const results = await client.query(text).finally(() => client.end());
  return [results].flat().at(-1)?.rows ?? [];
};
const urlOf = (user: string) =>
  Object.assign(new URL(database.databaseUrl), { username: user, password: PASSWORD }).href;

/** As `user`, which then lets `services` read and write. */
async function migrateAs(user: string): Promise<void> {
  const env = { DATABASE_URL: urlOf(user), SERVICE_DATABASE_URL: urlOf(services) };
  const migration = startProcess(process.execPath, ['services/programs/migrate.ts'], { env });
  expect([await migration.ended, migration.output()]).toEqual([0, expect.stringContaining('may read')]);
}

/** Through a scheduling process that runs as `services`. */
async function createMaterial(): Promise<string> {
  const scheduling = await startService('scheduling', { DATABASE_URL: urlOf(services) });
  const client = clientsOf('scheduling.v1', {
    target: scheduling.target,
    trust: { serviceTokens: [], tls: undefined },
    caller: 'test',
    deadlineMs: 5000,
  })<MaterialServiceDefinition>('MaterialService');
  try {
    const { material } = await client.createMaterial({ userId: USER_ID, title: 'T' }, { requestId: 'test' });
    return material?.title ?? '';
  } finally {
    client.close();
    await scheduling.kill();
  }
}

/** Through a reminders process that runs as `services`; of a user of whom it holds nothing. */
async function deleteReminders(): Promise<unknown> {
  const nowhere = '127.0.0.1:1';
  const reminders = await startService('reminders', {
    DATABASE_URL: urlOf(services),
    ...{ SCHEDULING_URL: nowhere, ACCOUNTS_URL: nowhere, MAIL_DIR: join(tmpdir(), `no-mails-${own}`) },
    ...{ REMINDERS_HTTP_PORT: '0', PUBLIC_URL: 'https://remind.example.com' },
  });
  const client = connectReminders(reminders.target);
  try {
    return await client.deleteUserData({ userId: USER_ID }, { requestId: 'test' });
  } finally {
    client.close();
    await reminders.kill();
  }
}

beforeAll(async () => {
  database = await createTestDatabase();
  for (const role of [old, owner]) await sql(`CREATE ROLE ${role} LOGIN CREATEROLE PASSWORD '${PASSWORD}'`);
});
afterAll(async () => {
  await database.drop();
  database = await createTestDatabase();
  await sql(`DROP ROLE IF EXISTS ${old}; DROP ROLE IF EXISTS ${owner}; DROP ROLE IF EXISTS ${services}`);
  await database.drop();
});

test('the role of the services works in a database that is closed to everybody else', async () => {
  const name = new URL(database.databaseUrl).pathname.slice(1);
  await sql(`ALTER DATABASE ${name} OWNER TO ${old};
    REVOKE ALL ON DATABASE ${name} FROM PUBLIC;
    ALTER DEFAULT PRIVILEGES FOR ROLE ${old} REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC`);
  await migrateAs(old);
  // A second time it logs in as the role.
  await migrateAs(old);
  expect(await createMaterial()).toBe('T');
  expect(await deleteReminders()).toEqual({ reminders: 0, pushSubscriptions: 0, deliveries: 0 });
});

test('a role that is replaced as the page of secrets says leaves every table, also if it owned them', async () => {
  const page = readFileSync(join(root, 'docs/operations/secrets.md'), 'utf8');
  const [, statements = ''] = /`([^`]*DROP OWNED BY old[^`]*)`/.exec(page) ?? [];
  // One after the other, as psql sends them.
  for (const statement of statements.split(';'))
    await sql(statement.replaceAll(/\bold\b/g, old).replaceAll(/\bowner\b/g, owner));
  expect(await sql(`SELECT FROM pg_roles WHERE rolname = '${old}'`)).toEqual([]);
  expect(await sql('SELECT title FROM scheduling.materials')).toEqual([{ title: 'T' }]);
  // The new owner migrates as the old one did.
  await migrateAs(owner);
  expect(await createMaterial()).toBe('T');
});
