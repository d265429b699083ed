// Roles of the database as docs/operations has them made, used and replaced.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { MaterialServiceDefinition } from '../../generated/scheduling/v1/MaterialService.ts';
import { clientsOf } from '../../services/platform/grpc/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { root, startProcess } from '../support/processes.ts';
import { connectReminders } from '../support/reminders-client.ts';
import { argumentsOf, startService } from '../support/services.ts';

beforeAll(prepare);
afterAll(stopAll);

test('the role of the services works in a database that is closed to everybody else', async () => {
  const name = new URL(database.databaseUrl).pathname.slice(1);
  await sql(`ALTER DATABASE ${name} OWNER TO ${old};
    REVOKE ALL ON DATABASE ${name} FROM PUBLIC;
    ALTER DEFAULT PRIVILEGES FOR ROLE ${old} REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC`);
  await migrateAs(old);
  // A second time does no harm.
  await migrateAs(old);
  expect(await createMaterial()).toBe('T');
  expect(await deleteReminders()).toEqual({ reminders: 0, pushSubscriptions: 0, deliveries: 0 });
});

test('the role of the services reads and writes rows, also of later tables, and cannot change the schema', async () => {
  await as(old, (client) => client.query('CREATE TABLE scheduling.later (id bigserial)'));
  await as(services, async (client) => {
    await client.query('INSERT INTO scheduling.later DEFAULT VALUES');
    for (const statement of [
      'CREATE TABLE scheduling.mine (id int)',
      'ALTER TABLE scheduling.materials ADD COLUMN x int',
      'DROP TABLE scheduling.materials',
      'TRUNCATE scheduling.materials',
      'CREATE SCHEMA mine',
      'DELETE FROM scheduling.schema_migrations',
      'CREATE ROLE other',
    ])
      await expect(client.query(statement), statement).rejects.toMatchObject({ code: '42501' });
  });
  await as(old, (client) => client.query('DROP TABLE scheduling.later'));
});

test('a service whose schema is older than its code says what to run', async () => {
  const [row] = (await sql(
    "DELETE FROM scheduling.schema_migrations WHERE name LIKE '0001%' RETURNING id, name, run_on",
  )) as {
    id: number;
    name: string;
    run_on: Date;
  }[];
  const service = startProcess(process.execPath, argumentsOf('scheduling'), {
    env: { DATABASE_URL: urlOf(services), SCHEDULING_PORT: '0' },
  });
  expect(await service.ended).toBe(1);
  expect(service.output()).toMatch(
    /the schema scheduling is missing or older than this code, and the role of DATABASE_URL may not change that \(permission denied for .+\)\. Run npm run migrate as the owner of the database\n$/,
  );
  await sql(
    `INSERT INTO scheduling.schema_migrations (id, name, run_on)
     VALUES (${row?.id}, '${row?.name}', '${row?.run_on.toISOString()}')`,
  );
});

test('a role that may not create a schema is told who may', async () => {
  const empty = await createTestDatabase();
  onTestFinished(empty.drop);
  const url = Object.assign(new URL(empty.databaseUrl), { username: services, password: PASSWORD });
  const migration = startProcess(process.execPath, argumentsOf('migrate'), {
    env: { DATABASE_URL: url.href },
  });
  expect([await migration.ended, migration.output()]).toEqual([
    1,
    'the schema accounts is missing or older than this code, and the role of DATABASE_URL may not change that ' +
      `(permission denied for database ${url.pathname.slice(1)}). Run npm run migrate as the owner of the database\n`,
  ]);
});

test('a service whose role has no rights yet says what to do, and so does npm run doctor', async () => {
  await as(old, (client) => client.query(`REVOKE USAGE ON SCHEMA scheduling FROM ${services}`));
  const env = { DATABASE_URL: urlOf(services), SCHEDULING_PORT: '0' };
  const [service, doctor] = ['scheduling', 'doctor'].map((name) =>
    startProcess(process.execPath, argumentsOf(name), { env }),
  );
  expect([await service?.ended, await doctor?.ended]).toEqual([1, 1]);
  const refusal = 'permission denied for schema scheduling';
  const remedy = 'as the owner of the database, grant the role of DATABASE_URL its rights: ';
  expect(service?.output()).toContain(` cannot be used: ${refusal}; ${remedy}`);
  expect(doctor?.output()).toMatch(new RegExp(`^database +bad +${refusal}\n +-> ${remedy}`, 'm'));
  await as(old, (client) => client.query(`GRANT USAGE ON SCHEMA scheduling TO ${services}`));
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

test('deploy/service-role reads name and password out of the URL as the services do, percent-encoded', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'srs-service-role-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [OWNER_PASSWORD_FILE, DATABASE_URL_FILE] = [join(folder, 'password'), join(folder, 'url')];
  writeFileSync(OWNER_PASSWORD_FILE, 'of the owner\n');
  const told = '#!/bin/sh\nprintf "%s\\n" "$PGPASSWORD" "$SERVICE_ROLE" "$SERVICE_PASSWORD"\n';
  writeFileSync(join(folder, 'psql'), told, { mode: 0o755 });
  for (const [encoded, password] of [
    ['a%40b%2F50%25%5C%C3%A9', 'a@b/50%\\é'],
    ['50%off', '50%off'],
  ]) {
    writeFileSync(DATABASE_URL_FILE, `postgres://new%5Frole:${encoded}@postgres:5432/srs\n`);
    const program = startProcess('deploy/service-role', [], {
      env: { PATH: `${folder}:${process.env.PATH}`, OWNER_PASSWORD_FILE, DATABASE_URL_FILE },
    });
    expect([await program.ended, program.output()]).toEqual([0, `of the owner\nnew_role\n${password}\n`]);
  }
});

const PASSWORD = 'p'.repeat(32);
const USER_ID = '00000000-0000-7000-8000-000000000001';
const own = randomBytes(6).toString('hex');
const [old, owner, services] = [`old_${own}`, `owner_${own}`, `services_${own}`];

let database: TestDatabase;

async function prepare(): Promise<void> {
  database = await createTestDatabase();
  for (const role of [old, owner, services]) await sql(`CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}'`);
}

async function stopAll(): Promise<void> {
  await database.drop();
  database = await createTestDatabase();
  await sql(`DROP ROLE IF EXISTS ${old}; DROP ROLE IF EXISTS ${owner}; DROP ROLE IF EXISTS ${services}`);
  await database.drop();
}

/** As `user`, which then lets `services` read and write. */
async function migrateAs(user: string): Promise<void> {
  const migration = startProcess(process.execPath, argumentsOf('migrate'), {
    env: { DATABASE_URL: urlOf(user) },
  });
  expect([await migration.ended, migration.output()]).toEqual([0, expect.stringContaining('can start')]);
  await as(user, (client) => client.query(grants()));
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
    SCHEDULING_URL: nowhere,
    ACCOUNTS_URL: nowhere,
    MAIL_DIR: join(tmpdir(), `no-mails-${own}`),
    REMINDERS_HTTP_PORT: '0',
    PUBLIC_URL: 'https://remind.example.com',
  });
  const client = connectReminders(reminders.target);
  try {
    return await client.deleteUserData({ userId: USER_ID }, { requestId: 'test' });
  } finally {
    client.close();
    await reminders.kill();
  }
}

const sql = async (text: string): Promise<unknown[]> => {
  const client = new Client({ connectionString: database.databaseUrl });
  await client.connect();
  const results = await client.query(text).finally(() => client.end());
  return [results].flat().at(-1)?.rows ?? [];
};
const as = async (user: string, work: (client: Client) => Promise<unknown>): Promise<void> => {
  const client = new Client({ connectionString: urlOf(user) });
  await client.connect();
  await work(client).finally(() => client.end());
};
const urlOf = (user: string) =>
  Object.assign(new URL(database.databaseUrl), { username: user, password: PASSWORD }).href;

/** The statements of the page for the owner, with the names of this test. */
const grants = () => {
  const page = readFileSync(join(root, 'docs/operations/database.md'), 'utf8');
  const [, statements = ''] = [...page.matchAll(/```sql\n([^`]*)```/g)].map(([, text]) => text);
  const name = new URL(database.databaseUrl).pathname.slice(1);
  return statements.replaceAll('srs_service', services).replaceAll('spaced_repetition', name);
};
