import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const run = (script: string, ...args: string[]) =>
  promisify(execFile)('npm', ['run', '--silent', script, '--', ...args], {
    cwd: dirname(dirname(import.meta.dirname)),
    env: { PATH: process.env.PATH, HOME: process.env.HOME, DATABASE_URL: database.databaseUrl },
  }).then(
    ({ stdout }) => ({ code: 0, stdout, stderr: '' }),
    (error) => ({ code: error.code, stdout: error.stdout, stderr: error.stderr }),
  );

test('npm run seed makes learners whose histories replay without drift, in two runs side by side', async () => {
  const [first, second] = await Promise.all([
    run('seed', '--users', '3', '--materials', '5', '--reviews', '4', '--yes'),
    run('seed', '--users', '2', '--materials', '5', '--yes'),
  ]);
  expect(first.stdout).toMatch(/^Created 3 learners\. One of them: learner1\.\w+@example\.com\n$/);
  expect(second.stdout).toMatch(/^Created 2 learners\./);
  const { code, stdout } = await run('verify');
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(/^25 materials, \d+ reviews, 0 snoozes: 0 drifted\n$/),
  ]);
  const client = new Client({ connectionString: database.databaseUrl });
  await client.connect();
  const { rows } = await client.query(
    `SELECT (SELECT count(*)::int FROM accounts.users) AS users,
       (SELECT count(*)::int FROM scheduling.reviews) AS reviews,
       (SELECT count(*)::int FROM scheduling.reviews WHERE review_time > now()) AS later,
       (SELECT count(*)::int FROM scheduling.material_search s JOIN scheduling.materials m USING (user_id, material_id)
        WHERE s.title = lower(m.title)) AS found`,
  );
  await client.end();
  expect(rows[0]).toMatchObject({ users: 5, later: 0, found: 25 });
  expect(rows[0].reviews).toBeGreaterThan(25);
});

test('npm run seed makes reminders where their tables are, each with the next time that follows', async () => {
  expect((await run('migrate')).code).toBe(0);
  const { code, stderr } = await run('seed', '--users', '100', '--materials', '1', '--reviews', '0', '--yes');
  expect([code, stderr]).toEqual([0, '']);
  expect((await run('verify')).stdout).toMatch(/^[1-9]\d reminders: 0 drifted; 0 occurrences: 0 twice$/m);
});

test('npm run seed writes into DATABASE_URL only when told to, and says what it wants', async () => {
  const refused = await run('seed', '--users', '1', '--materials', '1');
  expect([refused.code, refused.stderr]).toEqual([
    1,
    'This command writes to DATABASE_URL. Add --yes to confirm.\n',
  ]);
  const wrong = await run('seed', '--users', '0', '--materials', '1', '--yes');
  expect([wrong.code, wrong.stderr]).toEqual([
    1,
    '--users must be a whole number from 1 to 100000. See "npm run seed -- --help".\n',
  ]);
  expect((await run('seed', '--help')).stdout).toContain('npm run seed -- --users N --materials M');
});
