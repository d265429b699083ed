// A role for the services that cannot change the schema, made by npm run migrate, and what happens without its rights.
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startProcess } from '../support/processes.ts';
import { type ServiceProcess, startService } from '../support/services.ts';

const role = `svc_${randomBytes(6).toString('hex')}`;
const PASSWORD = "p'w\\ä$1";

let database: TestDatabase;
let serviceUrl: string;
const as = async <T>(connectionString: string, work: (client: Client) => Promise<T>): Promise<T> => {
  const client = new Client({ connectionString });
  await client.connect();
  return work(client).finally(() => client.end());
};
const urlOf = (user: string, password: string) =>
  Object.assign(new URL(database.databaseUrl), { username: user, password: encodeURIComponent(password) })
    .href;

beforeAll(async () => {
  database = await createTestDatabase();
  serviceUrl = urlOf(role, PASSWORD);
});
afterAll(async () => {
  await as(database.databaseUrl, (client) => client.query(`DROP OWNED BY ${role}`));
  await as(database.databaseUrl, (client) => client.query(`DROP ROLE ${role}`));
  await database.drop();
});

async function migrate(environment: Record<string, string>) {
  const run = startProcess(process.execPath, ['services/programs/migrate.ts'], {
    env: { DATABASE_URL: database.databaseUrl, ...environment },
  });
  return { code: await run.ended, output: run.output() };
}

const storedPassword = () =>
  as(database.databaseUrl, async (client) => {
    const { rows } = await client.query('SELECT rolpassword FROM pg_authid WHERE rolname = $1', [role]);
    return rows[0]?.rolpassword as string;
  });

test('npm run migrate makes the role of SERVICE_DATABASE_URL, and shows no password', async () => {
  const { code, output } = await migrate({ SERVICE_DATABASE_URL: serviceUrl });
  expect([code, output]).toEqual([
    0,
    expect.stringContaining('The role of SERVICE_DATABASE_URL may read and write rows.\n'),
  ]);
  expect(output).not.toContain(PASSWORD);
  expect(await storedPassword()).toMatch(/^SCRAM-SHA-256\$4096:/);
});

test('a second run leaves the role as it is', async () => {
  const before = await storedPassword();
  expect((await migrate({ SERVICE_DATABASE_URL: serviceUrl })).code).toBe(0);
  const after = await storedPassword();
  // A server that trusts this machine accepts any password, so the password is never changed here.
  expect(after).toBe(before);
});

test('the role reads and writes rows, also of later tables, and cannot change the schema or what is applied', async () => {
  await as(database.databaseUrl, (client) => client.query('CREATE TABLE scheduling.later (id bigserial)'));
  await as(serviceUrl, async (client) => {
    await client.query('INSERT INTO scheduling.later DEFAULT VALUES');
    const { rows } = await client.query('SELECT count(*)::int AS n FROM scheduling.materials');
    expect(rows).toEqual([{ n: 0 }]);
    for (const statement of [
      'CREATE TABLE scheduling.mine (id int)',
      'ALTER TABLE scheduling.materials ADD COLUMN x int',
      'DROP TABLE scheduling.materials',
      'TRUNCATE scheduling.materials',
      'CREATE SCHEMA mine',
      'DELETE FROM scheduling.schema_migrations',
      'CREATE ROLE other',
    ])
      await expect(client.query(statement), statement).rejects.toMatchObject({
        code: expect.stringMatching('42501'),
      });
  });
});

test('accounts, scheduling and reminders run as this role', async () => {
  const services: ServiceProcess[] = [];
  try {
    const KEY_PEPPER = `1:${'p'.repeat(32)}`;
    services.push(await startService('accounts', { DATABASE_URL: serviceUrl, KEY_PEPPER, OPS_PORT: '0' }));
    services.push(await startService('scheduling', { DATABASE_URL: serviceUrl, OPS_PORT: '0' }));
    for (const { ops } of services)
      await expect.poll(async () => (await fetch(`${ops}/ready`)).status).toBe(200);
  } finally {
    for (const service of services) await service.kill();
  }
});

test('a service whose schema is older than its code says what to run', async () => {
  await as(database.databaseUrl, (client) =>
    client.query(`DELETE FROM scheduling.schema_migrations WHERE name LIKE '0001%'`),
  );
  const service = startProcess(process.execPath, ['services/scheduling/main.ts'], {
    env: { DATABASE_URL: serviceUrl, SCHEDULING_PORT: '0' },
  });
  expect(await service.ended).toBe(1);
  expect(service.output()).toContain(
    'the schema scheduling is older than this code, and the role of DATABASE_URL may not change it. Run npm run migrate',
  );
  await as(database.databaseUrl, (client) => client.query('DROP SCHEMA scheduling CASCADE'));
});

test('an owner that may not make roles is told what an administrator has to run', async () => {
  const [owner, missing] = [`${role}_owner`, `${role}_none`];
  await as(database.databaseUrl, async (client) => {
    await client.query(`CREATE ROLE ${owner} LOGIN PASSWORD 'x'`);
    const { rows } = await client.query('SELECT current_database() AS name');
    await client.query(`GRANT ALL ON DATABASE ${rows[0].name} TO ${owner}`);
    await client.query('DROP SCHEMA accounts, reminders CASCADE');
  });
  try {
    const { code, output } = await migrate({
      DATABASE_URL: urlOf(owner, 'x'),
      SERVICE_DATABASE_URL: urlOf(missing, 'geheim'),
    });
    expect(code).toBe(1);
    expect(output).toContain(`As an administrator, run: CREATE ROLE "${missing}" LOGIN PASSWORD`);
    expect(output).not.toContain('geheim');
  } finally {
    await as(database.databaseUrl, (client) => client.query(`DROP OWNED BY ${owner}; DROP ROLE ${owner}`));
  }
});
