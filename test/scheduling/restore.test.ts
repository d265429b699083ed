// What this service hands out whole, it takes back whole: export, import into another user, export.
import fc from 'fast-check';
import { expect } from 'vitest';
import type { ExportUserDataResponse } from '../../generated/scheduling/v1/ExportUserDataResponse.ts';
import type { MaterialRecord } from '../../generated/scheduling/v1/MaterialRecord.ts';
import { test } from '../fixtures.ts';
import { driftOf } from '../support/drift.ts';
import { card, exportWhole, importAll, past, shown } from '../support/imports.ts';
import { at, CALL, newUserId, refusal, type TestScheduling } from '../support/scheduling.ts';

test('any history comes back as it was, and verify is clean', async ({ scheduling: here }) => {
  const steps = fc.array(fc.constantFrom(...(Object.keys(STEPS) as (keyof typeof STEPS)[])), {
    maxLength: 12,
  });
  const plans = fc.array(steps, { minLength: 1, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const [from, to] = [newUserId(), newUserId()];
      for (const names of plan) {
        const materialId = await here.create(from);
        for (const name of names) await STEPS[name](here, { userId: from, materialId });
      }
      const { messages, result } = await restore(here, from, to);
      expect(result.problems).toEqual([]);
      expect(await exportWhole(here, to)).toEqual(messages);
      expect(await driftOf(here, to)).toEqual([]);
      const again = await importAll(here, to, recordsOf(messages));
      expect([again.materials?.new, again.materials?.changed, again.reviews?.new]).toEqual([0, 0, 0]);
    }),
    { numRuns: 6 },
  );
});

test('a restored material goes on: reviewed, imported again from its program', async ({
  scheduling: here,
  userId,
}) => {
  const to = newUserId();
  const cards = [card('anki:x:0', { reviews: [past('1', 3, '2020-01-01T00:00:00Z', 2)] })];
  await importAll(here, userId, cards);
  await restore(here, userId, to);
  expect(shown(await importAll(here, to, cards))).toEqual(['unchanged 1', 'unchanged 1']);
  const [record] = recordsOf(await exportWhole(here, to));
  const materialId = record?.material?.materialId ?? '';
  const { material } = await here.reviews.submitReview({ userId: to, materialId, quality: 4 }, CALL);
  expect(material).toMatchObject({ intervalDays: 24, revision: 1 });
  expect(await driftOf(here, to)).toEqual([]);
});

test('reviews and snoozes come with the API keys that they were made with', async ({
  scheduling: here,
  userId,
}) => {
  const materialId = await here.create(userId);
  await STEPS.review(here, { userId, materialId });
  await STEPS.snooze(here, { userId, materialId });
  const apiKeyId = '0198f7c2-0000-7000-8000-000000000001';
  for (const table of ['reviews', 'snoozes'])
    await here.sql.query(`UPDATE scheduling.${table} SET api_key_id = $2 WHERE user_id = $1`, [
      userId,
      apiKeyId,
    ]);
  const to = newUserId();
  await restore(here, userId, to);
  const [record] = recordsOf(await exportWhole(here, to));
  expect([record?.reviews[0]?.apiKeyId, record?.snoozes[0]?.snooze?.apiKeyId]).toEqual([apiKeyId, apiKeyId]);
});

test('what was done to a material after an export had read it is left out, and it can be reviewed on', async ({
  scheduling: here,
  userId,
}) => {
  const from = newUserId();
  const materialId = await here.create(from);
  await STEPS.review(here, { userId: from, materialId });
  await STEPS.snooze(here, { userId: from, materialId });
  const { torn } = await exportTorn(here, from, async () => {
    await STEPS.cancel(here, { userId: from, materialId });
    await STEPS.review(here, { userId: from, materialId });
    await STEPS.snooze(here, { userId: from, materialId });
  });
  expect(shown(await importAll(here, userId, [torn]))).toEqual(['new 1', 'new 1, leftOut 1', 'HISTORY 2']);
  await STEPS.review(here, { userId, materialId });
  const { reviews } = await here.reviews.listReviews({ userId, materialId }, CALL);
  expect(reviews.map(({ revision }) => revision)).toEqual([3, 1]);
  expect(await driftOf(here, userId)).toEqual([]);
});

test('a review that was undone after an export had read its material counts', async ({
  scheduling: here,
  userId,
}) => {
  const from = newUserId();
  const materialId = await here.create(from);
  await STEPS.review(here, { userId: from, materialId });
  const { early, torn } = await exportTorn(here, from, () => STEPS.undo(here, { userId: from, materialId }));
  expect(shown(await importAll(here, userId, [torn]))).toEqual(['new 1', 'new 1']);
  expect(recordsOf(await exportWhole(here, userId))).toEqual([early]);
  expect(await driftOf(here, userId)).toEqual([]);
});

test('settings come with the reviews that name them', async ({ scheduling: here, userId }) => {
  const to = newUserId();
  await here.sql.query(
    `INSERT INTO scheduling.learner_settings (user_id, version, scheduler, desired_retention, time_zone, create_time)
     VALUES ($1, 1, 'fsrs', 0.85, 'Europe/Berlin', '2026-01-01')`,
    [userId],
  );
  const materialId = await here.create(userId);
  for (const quality of [4, 5]) await here.reviews.submitReview({ userId, materialId, quality }, CALL);
  const { messages, result } = await restore(here, userId, to);
  expect([settingsOf(messages).length, result.problems]).toEqual([1, []]);
  expect(await exportWhole(here, to)).toEqual(messages);
  expect(await driftOf(here, to)).toEqual([]);
});

test('a dry run replays the reviews by the settings that come with them, and stores neither', async ({
  scheduling: here,
  userId,
}) => {
  const to = newUserId();
  const materialId = await here.create(userId);
  await STEPS.fsrs(here, { userId, materialId });
  await STEPS.review(here, { userId, materialId });
  const messages = await exportWhole(here, userId);
  const options = { settings: settingsOf(messages), dryRun: true };
  expect(shown(await importAll(here, to, recordsOf(messages), options))).toEqual(['new 1', 'new 1']);
  expect(await exportWhole(here, to)).toEqual([]);
});

test('a material twice in one call, the second time with a source, is stored once, and is one problem', async ({
  scheduling: here,
  userId,
}) => {
  await STEPS.review(here, { userId, materialId: await here.create(userId) });
  const [record = {}] = recordsOf(await exportWhole(here, userId));
  const to = newUserId();
  const result = await importAll(here, to, [record, { ...record, source: 's' }]);
  expect(shown(result)).toEqual(['new 1, leftOut 1', 'new 1, leftOut 1', 'DUPLICATE 1']);
  expect(recordsOf(await exportWhole(here, to))).toEqual([record]);
});

test('a review ID that comes again with another material is left out there, and so is its undo', async ({
  scheduling: here,
  userId,
}) => {
  const from = newUserId();
  for (const materialId of [await here.create(from), await here.create(from)]) {
    await STEPS.review(here, { userId: from, materialId });
    await STEPS.undo(here, { userId: from, materialId });
  }
  const [one, two] = recordsOf(await exportWhole(here, from));
  const reviewId = one?.reviews[0]?.reviewId ?? '';
  const same = { ...two, reviews: [{ ...two?.reviews[0], reviewId }] };
  expect(shown(await importAll(here, userId, [one ?? {}, same]))).toEqual([
    'new 2',
    'new 1, leftOut 1',
    'DUPLICATE 1',
  ]);
  const other = newUserId();
  await importAll(here, other, [one ?? {}]);
  expect(shown(await importAll(here, other, [same]))).toEqual(['new 1', 'new 1']);
});

test('a material that a call names by its ID and again by its source is changed once', async ({
  scheduling: here,
  userId,
}) => {
  await importAll(here, userId, [card('anki:a:0')]);
  const [record] = recordsOf(await exportWhole(here, userId));
  const material = { ...record?.material, title: 'Ours', updateTime: at('2200-01-01T00:00:00Z') };
  const result = await importAll(here, userId, [{ material }, card('anki:a:0', { title: 'Theirs' })]);
  expect(shown(result)).toEqual(['changed 1, leftOut 1', '', 'DUPLICATE 1']);
  const [changed] = recordsOf(await exportWhole(here, userId));
  expect(changed?.material?.title).toBe('Ours');
});

test('a schedule that does not follow from its history is kept, named, and begins anew', async ({
  scheduling: here,
  userId,
}) => {
  const from = newUserId();
  const materialId = await here.create(from);
  await here.reviews.submitReview({ userId: from, materialId, quality: 5 }, CALL);
  const [record] = recordsOf(await exportWhole(here, from));
  const material = { ...record?.material, intervalDays: 99 };
  const result = await importAll(here, userId, [{ ...record, material }]);
  expect(shown(result)).toEqual(['new 1', 'new 1', 'DRIFT 1']);
  const { material: stored } = await here.materials.getMaterial({ userId, materialId }, CALL);
  expect(stored?.intervalDays).toBe(99);
  expect(await driftOf(here, userId)).toEqual([]);
});

test('a review before such a beginning cannot be undone', async ({ scheduling: here, userId }) => {
  const from = newUserId();
  const materialId = await here.create(from);
  const { review } = await here.reviews.submitReview({ userId: from, materialId, quality: 5 }, CALL);
  const [record] = recordsOf(await exportWhole(here, from));
  await importAll(here, userId, [{ ...record, material: { ...record?.material, intervalDays: 99 } }]);
  const undo = here.reviews.undoReview({ userId, reviewId: review?.reviewId ?? '' }, CALL);
  expect(await refusal(undo)).toMatch(/^MATERIAL_CHANGED/);
  expect(await driftOf(here, userId)).toEqual([]);
});

test('a material that was snoozed to the end of the year 9999 comes back as it was, also where it was reviewed early', async ({
  scheduling: here,
  userId,
}) => {
  const to = newUserId();
  const materialIds = [await here.create(userId), await here.create(userId)];
  const snoozeUntilTime = at('9999-12-31T23:59:59.999Z');
  await here.snoozes.snoozeMaterials({ userId, materialIds, snoozeUntilTime }, CALL);
  await STEPS.review(here, { userId, materialId: materialIds[1] ?? '' });
  const { messages, result } = await restore(here, userId, to);
  expect(shown(result)).toEqual(['new 2', 'new 1']);
  expect(await exportWhole(here, to)).toEqual(messages);
  const [snoozed, reviewed] = recordsOf(messages);
  expect(snoozed?.material?.nextReviewTime).toEqual({ seconds: 253_402_300_799, nanos: 999_000_000 });
  expect(reviewed?.reviews[0]?.before?.nextReviewTime).toEqual(snoozeUntilTime);
  expect(await driftOf(here, to)).toEqual([]);
});

test('so does one whose history began anew while it was snoozed so far', async ({
  scheduling: here,
  userId,
}) => {
  const [from, to] = [newUserId(), newUserId()];
  const materialIds = [await here.create(from)];
  const snoozeUntilTime = at('9999-12-31T23:59:59.999Z');
  await here.snoozes.snoozeMaterials({ userId: from, materialIds, snoozeUntilTime }, CALL);
  const [record] = recordsOf(await exportWhole(here, from));
  const drifted = { ...record, material: { ...record?.material, intervalDays: 99 } };
  expect(shown(await importAll(here, userId, [drifted]))).toEqual(['new 1', '', 'DRIFT 1']);
  const { messages, result } = await restore(here, userId, to);
  expect(recordsOf(messages)[0]?.baseline?.schedule?.nextReviewTime).toEqual(snoozeUntilTime);
  expect(shown(result)).toEqual(['new 1', '']);
  expect(await exportWhole(here, to)).toEqual(messages);
});

test('a material that is due after the year 9999, or was made after 9997, is left out', async ({
  scheduling: here,
  userId,
}) => {
  const from = newUserId();
  await here.create(from);
  const [record] = recordsOf(await exportWhole(here, from));
  const bad = [
    { nextReviewTime: { seconds: 253_402_300_800, nanos: 0 } },
    { createTime: at('9998-01-01T00:00:00Z') },
  ];
  for (const fields of bad) {
    const material = { ...record?.material, ...fields };
    expect(shown(await importAll(here, userId, [{ material }]))).toEqual(['leftOut 1', '', 'TIME 1']);
  }
});

test('a material that is there keeps its history; a later text is taken', async ({
  scheduling: here,
  userId,
}) => {
  const materialId = await here.create(userId);
  const [record] = recordsOf(await exportWhole(here, userId));
  await here.reviews.submitReview({ userId, materialId, quality: 5 }, CALL);
  const [reviewed] = recordsOf(await exportWhole(here, userId));
  expect(shown(await importAll(here, userId, [record ?? {}]))).toEqual(['unchanged 1', '']);
  const later = { ...record?.material, title: 'Later', updateTime: at('2200-01-01T00:00:00Z') };
  const foreignReview = { ...reviewed?.reviews[0], reviewId: newUserId(), revision: 7 };
  const result = await importAll(here, userId, [{ material: later, reviews: [foreignReview] }]);
  expect(shown(result)).toEqual(['changed 1', 'leftOut 1', 'HISTORY 1']);
  const { material } = await here.materials.getMaterial({ userId, materialId }, CALL);
  expect(material).toMatchObject({ title: 'Later', intervalDays: 1, repetitions: 1 });
  expect(await driftOf(here, userId)).toEqual([]);
});

test('a material with more reviews than fit a message comes in parts, and goes in again', async ({
  scheduling: here,
  userId,
}) => {
  const to = newUserId();
  const day = (index: number) => new Date(Date.UTC(2010, 0, 1 + index)).toISOString();
  const reviews = Array.from({ length: 2001 }, (_, index) => past(`${index}`, 4, day(index), 1));
  await importAll(here, userId, [card('a', { reviews })]);
  const { messages } = await restore(here, userId, to);
  expect(recordsOf(messages).map(({ continues }) => continues)).toEqual([true, true, false]);
  expect(await exportWhole(here, to)).toEqual(messages);
});

test('so does a material with more snoozes than fit a message', async ({ scheduling: here, userId }) => {
  const to = newUserId();
  const materialId = await here.create(userId);
  await here.sql.query(
    `WITH put AS (
       SELECT n, gen_random_uuid() AS id, timestamptz '2090-01-01Z' + n * interval '1 day' AS until
       FROM generate_series(1, 101) AS n),
     made AS (
       INSERT INTO scheduling.snoozes (user_id, snooze_id, snooze_until_time, reason, create_time)
       SELECT $1, id, until, '', now() FROM put),
     changed AS (
       UPDATE scheduling.materials m SET revision = 101, next_review_time = until FROM put
       WHERE user_id = $1 AND n = 101 RETURNING m.create_time)
     INSERT INTO scheduling.snoozed_materials (user_id, material_id, revision, snooze_id, position,
       before_next_review_time, after_next_review_time)
     SELECT $1, $2, n, id, 1, lag(until, 1, create_time) OVER (ORDER BY n), until FROM put, changed`,
    [userId, materialId],
  );
  const { messages } = await restore(here, userId, to);
  expect(recordsOf(messages).map(({ snoozes }) => snoozes.length)).toEqual([100, 1]);
  expect(await exportWhole(here, to)).toEqual(messages);
});

/** What a learner can do with a material. */
const STEPS = {
  review: ({ reviews }: TestScheduling, ids: Ids) => reviews.submitReview({ ...ids, quality: 4 }, CALL),
  lapse: ({ reviews }: TestScheduling, ids: Ids) => reviews.submitReview({ ...ids, quality: 1 }, CALL),
  edit: ({ materials }: TestScheduling, ids: Ids) =>
    materials.updateMaterial({ ...ids, title: 'Ä\u{1F1EA}', content: 'C', labels: ['a/b'] }, CALL),
  archive: ({ materials }: TestScheduling, ids: Ids) => materials.archiveMaterial(ids, CALL),
  unarchive: ({ materials }: TestScheduling, ids: Ids) => materials.restoreMaterial(ids, CALL),
  async undo({ reviews }: TestScheduling, ids: Ids) {
    const { reviews: all } = await reviews.listReviews(ids, CALL);
    const reviewId = all.find(({ undoTime, revision }) => undoTime === null && revision > 0)?.reviewId;
    // One that something followed cannot be undone.
    if (reviewId !== undefined)
      await reviews.undoReview({ userId: ids.userId, reviewId }, CALL).catch(() => {});
  },
  spread: ({ snoozes }: TestScheduling, { userId }: Ids) =>
    snoozes.spreadBacklog({ userId, days: 3, timeZone: 'Asia/Tokyo' }, CALL),
  fsrs: ({ learners }: TestScheduling, { userId }: Ids) =>
    learners.updateLearnerSettings({ userId, scheduler: 'SCHEDULER_FSRS', desiredRetention: 0.85 }, CALL),
  sm2: ({ learners }: TestScheduling, { userId }: Ids) =>
    learners.updateLearnerSettings({ userId, scheduler: 'SCHEDULER_SM2', leechLapses: 2 }, CALL),
  snooze: ({ snoozes }: TestScheduling, { userId, materialId }: Ids) =>
    snoozes.snoozeMaterials(
      { userId, materialIds: [materialId], snoozeUntilTime: at('2090-01-01T00:00:00Z'), reason: 'later' },
      CALL,
    ),
  async cancel({ snoozes }: TestScheduling, { userId }: Ids) {
    const { snoozes: all } = await snoozes.listSnoozes({ userId }, CALL);
    const snoozeId = all.find(({ cancellableMaterials }) => cancellableMaterials > 0)?.snoozeId;
    if (snoozeId !== undefined) await snoozes.cancelSnooze({ userId, snoozeId }, CALL);
  },
  import: ({ userData }: TestScheduling, { userId }: Ids) =>
    importAll({ userData }, userId, [
      card('anki:x:0', { reviews: [past('1', 3, '2020-01-01T00:00:00Z', 2)] }),
    ]),
  importMore: ({ userData }: TestScheduling, { userId }: Ids) =>
    importAll({ userData }, userId, [
      card('anki:x:0', { intervalDays: 12, reviews: [past('2', 5, '2020-02-01T00:00:00Z', 2)] }),
    ]),
};

const recordsOf = (messages: ExportUserDataResponse[]): MaterialRecord[] =>
  messages.flatMap(({ wholeMaterial }) => wholeMaterial ?? []);
const settingsOf = (messages: ExportUserDataResponse[]) => messages.flatMap(({ settings }) => settings ?? []);

async function restore(here: TestScheduling, from: string, to: string) {
  const messages = await exportWhole(here, from);
  const result = await importAll(here, to, recordsOf(messages), { settings: settingsOf(messages) });
  return { messages, result };
}

/** A user's only material as a slow export has it: as it was before `meanwhile`, with all that came of it. `early`: without that. */
async function exportTorn(here: TestScheduling, userId: string, meanwhile: () => Promise<unknown>) {
  const [early] = recordsOf(await exportWhole(here, userId));
  await meanwhile();
  const [late] = recordsOf(await exportWhole(here, userId));
  return { early, torn: { ...late, material: early?.material ?? null } };
}

type Ids = { userId: string; materialId: string };
