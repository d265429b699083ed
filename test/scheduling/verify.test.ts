// npm run verify finds materials whose schedule does not follow from their history, and says what it cannot do.
import { expect } from 'vitest';
import { ServiceError } from '../../services/platform/errors.ts';
import { type Given, test } from '../fixtures.ts';
import { ask, createMigratedDatabase } from '../support/database.ts';
import { inTime, openLock } from '../support/row-locks.ts';
import { newUserId, type TestScheduling } from '../support/scheduling.ts';
import { untilAvailable } from '../support/system.ts';
import { runVerify, verifyIn } from '../support/verify.ts';

test.beforeAll(takeServices);

test('finds no drift in what the service wrote, also while reviews race, and then all that is planted', async ({
  userId,
}) => {
  const planted: [materialId: string, said: RegExp][] = [];
  for (const [, said] of PLANTED) planted.push([await busyMaterial(userId), said]);
  await here.create(newUserId());
  const sound = await verify();
  expect([sound.code, sound.stdout]).toEqual([
    0,
    expect.stringMatching(
      /^8 materials, 70 reviews, 21 snoozes: 0 drifted\n0 reminders: 0 drifted; 0 occurrences: 0 twice\nVerified DATABASE_URL in \d+\.\d s\. Everything is as it should be\.\n$/,
    ),
  ]);

  for (const [index, [statement]] of PLANTED.entries())
    await here.sql.query(statement, [planted[index]?.[0]]);
  // More than it reads at once, of which the last has drifted.
  await here.sql.query(
    `INSERT INTO scheduling.materials
       (user_id, material_id, title, type, ease_factor_hundredths, interval_days, repetitions, next_review_time,
        create_time, update_time)
     SELECT $1, ('ffffffff-0631-71fd-b622-' || lpad(n::text, 12, '0'))::uuid, 'Ohm', 'simple', 250, (n = 501)::integer, 0,
       '2026-11-23Z', '2026-11-23Z', '2026-11-23Z'
     FROM generate_series(1, 501) AS n`,
    [userId],
  );
  planted.push(['ffffffff-0631-71fd-b622-000000000501', /the schedule is .*interval 1/]);
  const { code, stdout } = await verify('--user', userId);
  expect(code).toBe(1);
  const lines: string[] = stdout.split('\n');
  for (const [index, [materialId, said]] of planted.entries())
    expect(
      lines.filter((line) => line.startsWith(`user ${userId} material ${materialId}: `)),
      PLANTED[index]?.[0],
    ).toEqual([expect.stringMatching(said)]);
  expect(lines.slice(8).join('\n')).toMatch(
    /^508 materials, 69 reviews, 18 snoozes: 8 drifted\n0 reminders: .*\nVerified DATABASE_URL in \d+\.\d s\. The lines above name what is wrong; nothing was changed\.\n$/,
  );
});

test('takes no change that is made while it reads for drift', async ({ userId }) => {
  const materialId = await here.create(userId);
  await here.reviews.submitReview({ userId, materialId, quality: 5 });
  const read = async () => {
    const lock = await openLock(here.databaseUrl);
    try {
      await lock.sql.query('LOCK TABLE scheduling.reviews');
      const found = verify('--user', userId);
      // It has read the material, and waits for the reviews, which go together with what it has read.
      await lock.untilWaiting(1, found);
      await lock.sql.query('DELETE FROM scheduling.reviews WHERE material_id = $1', [materialId]);
      await lock.release();
      // It waits for a lock for half a second at most.
      if ((await found).code === 2) throw new ServiceError('UNAVAILABLE');
      return await found;
    } finally {
      await lock.close();
    }
  };
  const { code, stdout } = await inTime(read);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^1 material, 1 review, 0 snoozes: 0 drifted\n/)]);
});

test('refuses an empty id, as a script writes it whose variable is not set', async () => {
  expect(await verify('--user', '')).toMatchObject({
    code: 2,
    stderr: '--user must be the id of a user. See "npm run verify -- --help".\n',
  });
});

test('leaves reminders out where there are none, and says of a database that is not ours what it lacks', async () => {
  const other = await createMigratedDatabase();
  await ask(other.databaseUrl, 'DROP SCHEMA reminders CASCADE');
  const { stdout: withoutReminders } = await runVerify(other.databaseUrl);
  await ask(other.databaseUrl, 'DROP SCHEMA scheduling CASCADE');
  const { code, stdout, stderr } = await runVerify(other.databaseUrl);
  await other.drop();
  expect(withoutReminders).toMatch(/^0 materials, 0 reviews, 0 snoozes: 0 drifted\nVerified DATABASE_URL /);
  expect([code, stdout, stderr]).toEqual([
    2,
    '',
    'The database of DATABASE_URL lacks the schema scheduling. Name another one, or run npm run migrate.\n',
  ]);
});

test('names DATABASE_SESSION_URL, which it reads in place of DATABASE_URL', async ({ userId }) => {
  const nowhere = Object.assign(new URL(here.databaseUrl), { host: '127.0.0.1:1' });
  const verifySession = verifyIn({ DATABASE_SESSION_URL: here.databaseUrl });
  const { code, stdout } = await verifySession(nowhere.href, '--user', userId);
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(/\nVerified DATABASE_SESSION_URL in \d+\.\d s\. /),
  ]);
});

test('says of a database of an earlier version what to run', async () => {
  const other = await createMigratedDatabase();
  await ask(other.databaseUrl, 'ALTER TABLE reminders.users DROP COLUMN follow_time');
  const { code, stderr } = await runVerify(other.databaseUrl);
  await other.drop();
  expect([code, stderr]).toEqual([
    2,
    'The database of DATABASE_URL is older than this code (column u.follow_time does not exist). Run npm start or npm run migrate, then this again.\n',
  ]);
});

/** Each statement plants a drift in one material; what is said of it. */
const PLANTED = [
  [
    'UPDATE scheduling.materials SET interval_days = interval_days + 1 WHERE material_id = $1',
    /the schedule is .*interval 2/,
  ],
  [
    "UPDATE scheduling.materials SET next_review_time = next_review_time + interval '1 ms' WHERE material_id = $1",
    /the schedule is/,
  ],
  [
    'UPDATE scheduling.materials SET last_reviewed_time = NULL WHERE material_id = $1',
    /last reviewed is never/,
  ],
  [
    'DELETE FROM scheduling.reviews WHERE material_id = $1 AND revision = 3',
    /before review 4, the schedule is/,
  ],
  ['DELETE FROM scheduling.snoozed_materials WHERE material_id = $1', /before review 2, the schedule is/],
  [
    'UPDATE scheduling.reviews SET quality = 5 - quality WHERE material_id = $1 AND revision = 2',
    /after review 2, the schedule is/,
  ],
  [
    'UPDATE scheduling.reviews SET after_ease_factor_hundredths = 131 WHERE material_id = $1 AND revision = 4',
    /after review 4, the schedule is .*ease factor 1\.31/,
  ],
] as const;

let here: TestScheduling;

function takeServices({ ownScheduling }: Given<'ownScheduling'>): void {
  here = ownScheduling;
}

const verify = (...args: string[]) => runVerify(here.databaseUrl, ...args);

/** A material with everything that can happen to one; returns its id. */
async function busyMaterial(userId: string): Promise<string> {
  const materialId = await here.create(userId);
  const review = (quality: number) => here.reviews.submitReview({ userId, materialId, quality });
  const snooze = (timeZone: string) =>
    here.snoozes.snoozeMaterials({
      userId,
      materialIds: [materialId],
      preset: 'SNOOZE_PRESET_TOMORROW',
      timeZone,
    });
  await snooze('UTC');
  for (const quality of [4, 5, 3]) await review(quality);
  await here.materials.updateMaterial({ userId, materialId, title: 'Edited' });
  await snooze('Asia/Tokyo');
  await Promise.all([0, 1, 2, 3, 4, 5].map((quality) => untilAvailable(() => review(quality))));
  // Whatever the order of those was, this leaves an interval of one day.
  await review(2);
  const far = { seconds: Math.floor(Date.now() / 1000) + 30 * 86_400, nanos: 0 };
  const request = { userId, materialIds: [materialId], snoozeUntilTime: far };
  const { snooze: last } = await here.snoozes.snoozeMaterials(request);
  await here.snoozes.cancelSnooze({ userId, snoozeId: last?.snoozeId ?? '' });
  await here.materials.archiveMaterial({ userId, materialId });
  return materialId;
}
