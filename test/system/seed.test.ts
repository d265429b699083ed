import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { root } from '../support/processes.ts';
import { argumentsOf } from '../support/services.ts';

beforeAll(prepare);
afterAll(() => database.drop());

test('npm run seed makes learners whose histories replay without drift, in two runs side by side', async () => {
  const [first, second] = await Promise.all([
    run('seed', '--users', '3', '--materials', '5', '--reviews', '4', '--yes'),
    run('seed', '--users', '2', '--materials', '5', '--yes'),
  ]);
  expect(first.stdout).toMatch(
    /^Created 3 learners, 15 materials and \d+ reviews in DATABASE_URL, in \d+\.\d s\.\nLook at one of them in the dashboard: learner1\.(\w+)@example\.com\nOne more has a clock of their own, which was moved by a month: sandbox\.\1@example\.com\n$/,
  );
  expect(second.stdout).toMatch(/^Created 2 learners, 10 materials and /);
  const { code, stdout } = await run('verify');
  expect([code, stdout]).toEqual([
    0,
    // Those of two sandbox learners included, 21 materials each.
    expect.stringMatching(
      /^67 materials, \d+ reviews, \d+ snoozes: 0 drifted\n\d+ reminders: 0 drifted; \d+ occurrences: 0 twice\nVerified /,
    ),
  ]);
  const rows = await query(
    `SELECT (SELECT count(*)::int FROM accounts.users) AS users,
       (SELECT count(*)::int FROM scheduling.reviews) AS reviews,
       (SELECT count(*)::int FROM scheduling.reviews WHERE review_time > now() AND NOT ${IS_SANDBOX}) AS later,
       (SELECT count(*)::int FROM scheduling.material_search s JOIN scheduling.materials m USING (user_id, material_id)
        WHERE s.title = lower(m.title)) AS found`,
  );
  expect(rows[0]).toMatchObject({ users: 7, later: 0, found: 67 });
  expect(rows[0].reviews).toBeGreaterThan(25);
});

test('npm run seed makes all learners of a run that takes several transactions, and all materials of one that takes several statements', async () => {
  const { code, stdout, stderr } = await run(
    ...['seed', '--users', '2', '--materials', '501', '--reviews', '10', '--yes'],
  );
  const [, name] = /^Created 2 learners, 1,002 materials and [\s\S]*: learner1\.(\w+)@/.exec(stdout) ?? [];
  expect([code, stderr, name]).toEqual([0, '', expect.any(String)]);
  const rows = await query(
    `SELECT u.email, count(*)::int AS materials FROM accounts.users u JOIN scheduling.materials m USING (user_id)
     WHERE u.email LIKE 'learner%.' || $1 || '@example.com' GROUP BY u.email ORDER BY u.email`,
    [name],
  );
  expect(rows).toEqual([
    { email: `learner1.${name}@example.com`, materials: 501 },
    { email: `learner2.${name}@example.com`, materials: 501 },
  ]);
});

test('npm run seed makes learners who look like people: steady volume, retention of 80 to 95 %, streaks that break', async () => {
  await query('TRUNCATE scheduling.materials CASCADE');
  await query('TRUNCATE accounts.user_events');
  expect((await run('seed', '--users', '20', '--materials', '100', '--yes')).code).toBe(0);
  const rows = await query(
    `WITH days AS (
       SELECT user_id, floor(extract(epoch FROM now() - review_time) / 86400)::int AS age, count(*)::int AS reviews,
         count(*) FILTER (WHERE quality >= 3)::int AS recalled
       FROM scheduling.reviews WHERE NOT ${IS_SANDBOX} GROUP BY 1, 2)
     SELECT user_id, sum(recalled)::float8 / sum(reviews) AS retention,
       count(*) FILTER (WHERE age BETWEEN 1 AND 60)::int AS studied,
       sum(reviews) FILTER (WHERE age BETWEEN 1 AND 30)::float8 AS latest,
       sum(reviews) FILTER (WHERE age BETWEEN 31 AND 60)::float8 AS before
     FROM days GROUP BY 1`,
  );
  // The dashboard's home has them at once, although an earlier count came before them.
  const counted = await query(
    `SELECT count(*)::int AS learners FROM scheduling.learners
     WHERE user_id IN (SELECT user_id FROM scheduling.materials)`,
  );
  expect(counted).toEqual([{ learners: 21 }]);
  // What operators did is in the timelines: each has archived a material, and changed the account.
  const done = await query(
    `SELECT e.action, count(*)::int AS events, count(m.archive_time)::int AS archived
     FROM accounts.user_events e
     LEFT JOIN scheduling.materials m
       ON m.user_id = e.user_id AND m.material_id = ANY(e.subject_ids) AND m.archive_time = e.event_time
     WHERE NOT e.is_of_key GROUP BY e.action ORDER BY e.action`,
  );
  expect(done).toEqual([
    { action: 'archiveMaterial', events: 20, archived: 20 },
    { action: 'updateUser', events: 20, archived: 0 },
  ]);
  expect((await run('verify')).stdout).toMatch(/^2,021 materials, [\d,]+ reviews, \d+ snoozes: 0 drifted\n/);
  const sum = (name: 'latest' | 'before') => rows.reduce((total, row) => total + row[name], 0);
  for (const { retention } of rows) {
    expect(retention).toBeGreaterThan(0.78);
    expect(retention).toBeLessThan(0.97);
  }
  expect(sum('latest') / sum('before')).toBeGreaterThan(0.75);
  expect(sum('latest') / sum('before')).toBeLessThan(1.33);
  const lifelike = await query(
    `SELECT (SELECT max(interval_days) FROM scheduling.materials) AS longest,
       (SELECT count(*)::int FROM accounts.api_keys WHERE last_used_time IS NOT NULL) AS used,
       (SELECT count(*)::int FROM accounts.api_keys WHERE last_refused_time IS NOT NULL AND revoke_time IS NOT NULL) AS refused,
       (SELECT count(*)::int FROM scheduling.reviews JOIN accounts.api_keys USING (api_key_id)) AS keyed,
       (SELECT count(*)::int FROM scheduling.reviews r JOIN accounts.api_keys k USING (api_key_id)
        WHERE r.review_time < k.create_time) AS early,
       (SELECT count(*)::int FROM accounts.key_requests WHERE status = 200 AND day > now()::date - 7) AS answered,
       (SELECT count(*)::int FROM accounts.refused_requests r JOIN accounts.api_keys k USING (api_key_id)
        WHERE r.status = 401 AND r.refuse_time > k.revoke_time) AS ended,
       (SELECT count(*)::int FROM accounts.refused_requests WHERE status = 400 AND field = 'quality') AS mistakes,
       (SELECT (summary->>'wentQuiet')::int FROM scheduling.overview) AS quiet,
       (SELECT (summary->>'overdue')::int FROM scheduling.overview) AS overdue`,
  );
  expect(lifelike[0].longest).toBeLessThanOrEqual(1000);
  expect(lifelike[0].early).toBe(0);
  for (const name of ['used', 'refused', 'keyed', 'answered', 'ended', 'mistakes', 'quiet'])
    expect(lifelike[0][name]).toBeGreaterThan(0);
  expect(lifelike[0].overdue).toBeGreaterThan(10);
  const withBreaks = rows.filter(({ studied }) => studied < 60).length;
  expect(withBreaks).toBeGreaterThan(10);
});

test('npm run seed makes reminders, each with the next time that follows', async () => {
  const { stdout } = await run('seed', '--users', '100', '--materials', '1', '--reviews', '0', '--yes');
  const [email] = /learner1\.\w+@example\.com/.exec(stdout) ?? [];
  expect((await run('verify')).stdout).toMatch(
    /^[1-9]\d+ reminders: 0 drifted; [1-9][\d,]* occurrences: 0 twice$/m,
  );
  // The learner to look at has an active reminder, and mails were sent, skipped and failed.
  const rows = await query(
    `SELECT array_agg(DISTINCT state ORDER BY state) AS states,
       count(DISTINCT r.reminder_id) FILTER (WHERE u.email = $1 AND r.next_time > now())::int AS active
     FROM reminders.deliveries d JOIN reminders.reminders r USING (user_id) JOIN accounts.users u USING (user_id)`,
    [email],
  );
  expect(rows).toEqual([{ states: ['failed', 'kept', 'sent', 'skipped'], active: 1 }]);
});

test('npm run seed makes a learner to test with by moving their clock through a month of reviews, snoozes and mails', async () => {
  const { stdout } = await run('seed', '--users', '1', '--materials', '1', '--reviews', '0', '--yes');
  const [email] = /sandbox\.\w+@example\.com/.exec(stdout) ?? [];
  const rows = await query(
    `WITH u AS (SELECT user_id FROM accounts.users WHERE email = $1)
     SELECT c.ahead_ms > 29 * 86400000::bigint AS "isAhead",
       (SELECT count(*)::int FROM scheduling.materials m WHERE m.user_id = u.user_id) AS materials,
       (SELECT count(DISTINCT review_time::date)::int > 15 FROM scheduling.reviews r WHERE r.user_id = u.user_id) AS "hasReviewed",
       (SELECT count(*)::int FROM scheduling.undone_reviews r WHERE r.user_id = u.user_id) AS undone,
       (SELECT count(*)::int FROM scheduling.snoozes s WHERE s.user_id = u.user_id) AS snoozes,
       (SELECT count(DISTINCT local_date)::int FROM reminders.deliveries d WHERE d.user_id = u.user_id) AS occurrences,
       (SELECT count(*)::int FROM reminders.deliveries d
        WHERE d.user_id = u.user_id AND d.state = 'kept' AND d.kept_text LIKE 'Hello %for review.%') > 3 AS "isReminded",
       (SELECT count(*)::int FROM scheduling.learners l WHERE l.user_id = u.user_id) AS listed
     FROM u JOIN scheduling.test_clocks c USING (user_id)`,
    [email],
  );
  expect(rows).toEqual([
    {
      isAhead: true,
      materials: 21,
      hasReviewed: true,
      undone: expect.any(Number),
      snoozes: expect.any(Number),
      occurrences: expect.any(Number),
      isReminded: true,
      listed: 1,
    },
  ]);
  expect(rows[0].occurrences).toBeGreaterThanOrEqual(30);
  expect(rows[0].snoozes).toBeGreaterThan(0);
});

test('npm run seed writes into DATABASE_URL only when told to, and says what it wants', async () => {
  const refused = await run('seed', '--users', '1', '--materials', '1');
  expect([refused.code, refused.stderr]).toEqual([
    1,
    'This command writes to DATABASE_URL. Add --yes to confirm. See "npm run seed -- --help".\n',
  ]);
  const wrong = await run('seed', '--users', '0', '--materials', '1', '--yes');
  expect([wrong.code, wrong.stderr]).toEqual([
    1,
    '--users must be a whole number from 1 to 100000. See "npm run seed -- --help".\n',
  ]);
  expect((await run('seed', '--help')).stdout).toContain('npm run seed [-- --users N --materials M');
});

/** IDs of users to test with are UUIDs of version 8. */
const IS_SANDBOX = "substr(user_id::text, 15, 1) = '8'";

let database: TestDatabase;

async function prepare(): Promise<void> {
  database = await createTestDatabase();
}

// biome-ignore lint/suspicious/noExplicitAny: the columns are those of each query
const query = (text: string, values: unknown[] = []) => ask<any>(database.databaseUrl, text, values);

const run = (script: string, ...args: string[]) =>
  promisify(execFile)(process.execPath, [...argumentsOf(script), ...args], {
    cwd: root,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, DATABASE_URL: database.databaseUrl },
  }).then(
    ({ stdout }) => ({ code: 0, stdout, stderr: '' }),
    (error) => ({ code: error.code, stdout: error.stdout, stderr: error.stderr }),
  );
