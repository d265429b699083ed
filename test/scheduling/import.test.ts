// Collections of other programs: what is stored, what a second import does, and what is left out.
import { expect } from 'vitest';
import type { ImportUserDataRequestInput } from '../../generated/scheduling/v1/ImportUserDataRequest.ts';
import type { MaterialRecordInput } from '../../generated/scheduling/v1/MaterialRecord.ts';
import { withConnection } from '../../services/platform/postgres/connection.ts';
import type { Queryable } from '../../services/platform/postgres/database.ts';
import { findKnown, lockForImport } from '../../services/scheduling/user-data/import-sql.ts';
import { test } from '../fixtures.ts';
import { createMigratedDatabase } from '../support/database.ts';
import { driftOf } from '../support/drift.ts';
import { card, importAll, past, shown } from '../support/imports.ts';
import { explainOn } from '../support/plans.ts';
import { lockMaterial } from '../support/row-locks.ts';
import { at, CALL, newUserId, refusal, type TestScheduling } from '../support/scheduling.ts';

test('a card comes with its schedule, its labels and its reviews, and is found', async ({
  scheduling,
  userId,
}) => {
  const result = await importAll(scheduling, userId, [card('anki:a:0', { reviews: REVIEWS })]);
  expect(shown(result)).toEqual(['new 1', 'new 3']);
  const material = await only(scheduling, userId);
  expect(material).toMatchObject({
    title: 'Card anki:a:0',
    content: 'Back',
    type: 'MATERIAL_TYPE_FLASHCARD',
    labels: ['Spanish/Verbs'],
    easeFactor: 2.36,
    intervalDays: 10,
    repetitions: 2,
    revision: 0,
    createTime: at('2020-01-01T00:00:00Z'),
    nextReviewTime: at('2030-01-11T00:00:00Z'),
    lastReviewedTime: at('2030-01-01T00:00:00Z'),
  });
  const history = await historyOf(scheduling, userId, material.materialId);
  expect(history.map(({ revision, quality }) => [revision, quality])).toEqual([
    [0, 5],
    [-1, 4],
    [-2, 2],
  ]);
  expect(history.map(({ before }) => before?.intervalDays)).toEqual([4, 3, 0]);
  const { materials } = await scheduling.materials.listMaterials({ userId, query: 'ANKI:A' }, CALL);
  expect(materials).toHaveLength(1);
  expect(await driftOf(scheduling, userId)).toEqual([]);
});

test('what a program does not say of a schedule is a new card that is due at once', async ({
  scheduling,
  userId,
}) => {
  const source = 'csv:1';
  const reviews = [past('1', 5, '2029-12-01T08:00:00Z'), past('2', 5, '2029-12-02T08:00:00Z')];
  await importAll(scheduling, userId, [{ source, material: { title: 'T' }, reviews }]);
  const material = await only(scheduling, userId);
  expect(material).toMatchObject({
    easeFactor: 2.5,
    intervalDays: 0,
    nextReviewTime: null,
    type: 'MATERIAL_TYPE_SIMPLE',
  });
  const [second, first] = await historyOf(scheduling, userId, material.materialId);
  expect(first).toMatchObject({ before: { intervalDays: 0 }, after: { intervalDays: 1, easeFactor: 2.6 } });
  expect(second).toMatchObject({ before: { intervalDays: 1 }, after: { intervalDays: 6, easeFactor: 2.7 } });
});

test('a review whose schedule they do not know goes on from the one before it, whose schedule they know', async ({
  scheduling,
  userId,
}) => {
  const after = { easeFactor: 2.6, intervalDays: 40, repetitions: 3 };
  const known = { ...past('1', 5, '2029-11-01T08:00:00Z'), after };
  const reviews = [known, past('2', 4, '2029-12-11T08:00:00Z')];
  await importAll(scheduling, userId, [card('anki:a:0', { reviews })]);
  const { materialId } = await only(scheduling, userId);
  const [second] = await historyOf(scheduling, userId, materialId);
  // 40 days by 2.6.
  expect(second).toMatchObject({ before: after, after: { intervalDays: 104, repetitions: 4 } });
});

test('reviews here go on from the imported schedule, and verify is clean', async ({ scheduling, userId }) => {
  await importAll(scheduling, userId, [card('anki:a:0', { reviews: REVIEWS })]);
  const { materialId } = await only(scheduling, userId);
  const { material, review } = await scheduling.reviews.submitReview(
    { userId, materialId, quality: 4 },
    CALL,
  );
  // 10 days by 2.36.
  expect(material).toMatchObject({ intervalDays: 24, repetitions: 3, revision: 1 });
  expect(review?.before).toMatchObject({ intervalDays: 10, easeFactor: 2.36 });
  expect(await historyOf(scheduling, userId, materialId)).toHaveLength(4);
  expect(await driftOf(scheduling, userId)).toEqual([]);
});

test('imported reviews are listed page by page, the latest first', async ({ scheduling, userId }) => {
  const reviews = Array.from({ length: 25 }, (_, index) =>
    past(`${index}`, 4, new Date(Date.UTC(2029, 0, 1 + index)).toISOString(), 1),
  );
  await importAll(scheduling, userId, [card('anki:a:0', { reviews })]);
  const { materialId } = await only(scheduling, userId);
  const { reviews: first, nextPageToken: pageToken } = await scheduling.reviews.listReviews(
    { userId, materialId },
    CALL,
  );
  const second = await scheduling.reviews.listReviews({ userId, materialId, pageToken }, CALL);
  expect([first, second.reviews].map((page) => page.map(({ revision }) => revision))).toEqual([
    Array.from({ length: 20 }, (_, index) => 0 - index),
    [-20, -21, -22, -23, -24],
  ]);
  expect(second.nextPageToken).toBe('');
});

test('imported reviews count in statistics', async ({ scheduling, userId }) => {
  await importAll(scheduling, userId, [card('anki:a:0', { reviews: REVIEWS })]);
  const window = { timeZone: 'UTC', days: 60, asOfTime: at('2030-01-01T12:00:00Z') };
  const { days } = await scheduling.stats.getActivity({ userId, window }, CALL);
  expect(days.filter(({ count }) => count > 0).map(({ date }) => date)).toEqual([
    '2029-12-01',
    '2029-12-20',
    '2030-01-01',
  ]);
  const { total, bands } = await scheduling.stats.getRetention({ userId, window }, CALL);
  expect(total).toMatchObject({ reviews: 3, recalled: 2 });
  expect(bands.map(({ count }) => count?.reviews)).toEqual([1, 2, 0, 0, 0]);
});

test('the same again changes nothing, in the database either', async ({ scheduling, userId }) => {
  const cards = ['a', 'b'].map((name) => card(`anki:${name}:0`, { reviews: REVIEWS }));
  await importAll(scheduling, userId, cards);
  const rows = async () =>
    (
      await scheduling.sql.query('SELECT m.ctid, m.xmin FROM scheduling.materials m WHERE user_id = $1', [
        userId,
      ])
    ).rows;
  const before = await rows();
  expect(shown(await importAll(scheduling, userId, cards))).toEqual(['unchanged 2', 'unchanged 6']);
  expect(await rows()).toEqual(before);
});

test('a dry run tells the same and stores nothing', async ({ scheduling, userId }) => {
  const cards = [card('anki:a:0', { reviews: REVIEWS }), card('anki:b:0', { title: '' })];
  const dry = await importAll(scheduling, userId, cards, { dryRun: true });
  const { materials } = await scheduling.materials.listMaterials({ userId }, CALL);
  expect(materials).toEqual([]);
  expect(dry).toEqual(await importAll(scheduling, userId, cards));
});

test('a second import adds reviews, and takes schedule and text where they have changed there', async ({
  scheduling,
  userId,
}) => {
  const materialId = await importFirst(scheduling, userId);
  const later = card('anki:a:0', {
    title: 'New',
    intervalDays: 30,
    labels: ['French'],
    updateTime: at('2022-01-01T00:00:00Z'),
    reviews: REVIEWS,
  });
  expect(shown(await importAll(scheduling, userId, [later]))).toEqual(['changed 1', 'new 1, unchanged 2']);
  expect(await only(scheduling, userId)).toMatchObject({
    materialId,
    title: 'New',
    intervalDays: 30,
    labels: ['French'],
    revision: 1,
  });
  const revisions = (await historyOf(scheduling, userId, materialId)).map(({ revision }) => revision);
  expect(revisions).toEqual([0, -1, -2]);
  const labelled = async (label: string) =>
    (await scheduling.materials.listMaterials({ userId, labels: [label] }, CALL)).materials.length;
  expect([await labelled('French'), await labelled('Spanish')]).toEqual([1, 0]);
  expect(shown(await importAll(scheduling, userId, [later]))).toEqual(['unchanged 1', 'unchanged 3']);
  expect(await driftOf(scheduling, userId)).toEqual([]);
});

test('a label that a second import takes from one card stays on the others', async ({
  scheduling,
  userId,
}) => {
  await importAll(scheduling, userId, [card('anki:a:0'), card('anki:b:0')]);
  await importAll(scheduling, userId, [card('anki:a:0', { labels: ['French'] })]);
  const titles = async (label: string) =>
    (await scheduling.materials.listMaterials({ userId, labels: [label] }, CALL)).materials.map(
      ({ title }) => title,
    );
  expect(await titles('French')).toEqual(['Card anki:a:0']);
  expect(await titles('Spanish')).toEqual(['Card anki:b:0']);
});

test('a file whose cards are new, such as a list of words, changes texts and no schedule', async ({
  scheduling,
  userId,
}) => {
  await importFirst(scheduling, userId);
  const updateTime = at('2022-01-01T00:00:00Z');
  const words = { source: 'anki:a:0', material: { title: 'Word', updateTime } };
  expect(shown(await importAll(scheduling, userId, [words]))).toEqual(['changed 1', '']);
  expect(await only(scheduling, userId)).toMatchObject({
    title: 'Word',
    easeFactor: 2.36,
    intervalDays: 10,
    repetitions: 2,
    nextReviewTime: at('2030-01-11T00:00:00Z'),
  });
  expect(shown(await importAll(scheduling, userId, [words]))).toEqual(['unchanged 1', '']);
  // As in their program.
  const later = card('anki:a:0', { intervalDays: 30, reviews: REVIEWS });
  await importAll(scheduling, userId, [later]);
  expect(await only(scheduling, userId)).toMatchObject({ intervalDays: 30 });
  expect(await driftOf(scheduling, userId)).toEqual([]);
});

test('a material that was reviewed here keeps its schedule, and gets their new reviews', async ({
  scheduling,
  userId,
}) => {
  const materialId = await importFirst(scheduling, userId);
  await scheduling.reviews.submitReview({ userId, materialId, quality: 4 }, CALL);
  const later = card('anki:a:0', { intervalDays: 300, reviews: REVIEWS });
  expect(shown(await importAll(scheduling, userId, [later]))).toEqual(['changed 1', 'new 1, unchanged 2']);
  expect(await only(scheduling, userId)).toMatchObject({ intervalDays: 24, revision: 2 });
  await scheduling.reviews.submitReview({ userId, materialId, quality: 4 }, CALL);
  expect(await historyOf(scheduling, userId, materialId)).toHaveLength(5);
  expect(await driftOf(scheduling, userId)).toEqual([]);
});

test('reviews of here that come back from a program, to which a package took them, are there already', async ({
  scheduling,
  userId,
}) => {
  const materialId = await importFirst(scheduling, userId);
  for (const time of ['2030-01-20T00:00:00.123Z', '2030-02-20T00:00:00.456Z']) {
    scheduling.setClock(time);
    await scheduling.reviews.submitReview({ userId, materialId, quality: 4 }, CALL);
  }
  scheduling.setClock('2030-03-20T00:00:00Z');
  const ofHere = [past('3', 4, '2030-01-20T00:00:00.123Z'), past('4', 4, '2030-02-20T00:00:00.460Z')];
  const taken = [...REVIEWS.slice(0, 2), ...ofHere];
  const back = card('anki:a:0', { reviews: taken });
  expect(shown(await importAll(scheduling, userId, [back]))).toEqual(['unchanged 1', 'unchanged 4']);
  const later = card('anki:a:0', { reviews: [...taken, past('5', 4, '2030-03-01T00:00:00Z')] });
  expect(shown(await importAll(scheduling, userId, [later]))).toEqual(['changed 1', 'new 1, unchanged 4']);
  expect(await historyOf(scheduling, userId, materialId)).toHaveLength(5);
  expect(await driftOf(scheduling, userId)).toEqual([]);
  scheduling.setClock(undefined);
});

test('a material that was reviewed here keeps its schedule when the same file comes twice, until they review it later', async ({
  scheduling,
  userId,
}) => {
  await importAndReview(scheduling, userId);
  const later = card('anki:a:0', { intervalDays: 300, reviews: REVIEWS });
  await importAll(scheduling, userId, [later]);
  expect(shown(await importAll(scheduling, userId, [later]))).toEqual(['unchanged 1', 'unchanged 3']);
  expect(await only(scheduling, userId)).toMatchObject({ intervalDays: 24, revision: 2 });
  scheduling.setClock('2030-03-01T00:00:00Z');
  const newest = card('anki:a:0', {
    intervalDays: 60,
    lastReviewedTime: at('2030-02-20T00:00:00Z'),
    reviews: [...REVIEWS, past('4', 4, '2030-02-20T00:00:00Z', 24)],
  });
  expect(shown(await importAll(scheduling, userId, [newest]))).toEqual(['changed 1', 'new 1, unchanged 3']);
  expect(await only(scheduling, userId)).toMatchObject({ intervalDays: 60, revision: 3 });
  expect(await driftOf(scheduling, userId)).toEqual([]);
  scheduling.setClock(undefined);
});

test('a material that was reviewed here keeps its schedule when a file with a later review comes twice', async ({
  scheduling,
  userId,
}) => {
  await importAndReview(scheduling, userId);
  scheduling.setClock('2030-01-22T00:00:00Z');
  const theirs = card('anki:a:0', {
    intervalDays: 300,
    // Later than the latest review that the file has.
    lastReviewedTime: at('2030-01-21T12:00:00Z'),
    reviews: [...REVIEWS.slice(0, 2), past('3', 5, '2030-01-21T00:00:00Z', 4)],
  });
  expect(shown(await importAll(scheduling, userId, [theirs]))).toEqual(['changed 1', 'new 1, unchanged 2']);
  expect(shown(await importAll(scheduling, userId, [theirs]))).toEqual(['unchanged 1', 'unchanged 3']);
  expect(await only(scheduling, userId)).toMatchObject({ intervalDays: 24, revision: 2 });
  scheduling.setClock(undefined);
});

test('what is taken while somebody edits the material is as of after the edit', async ({
  scheduling,
  userId,
}) => {
  const materialId = await importFirst(scheduling, userId);
  scheduling.setClock('2030-01-20T00:00:00Z');
  const lock = await lockMaterial(scheduling.databaseUrl, materialId);
  const imported = importAll(scheduling, userId, [card('anki:a:0', { reviews: REVIEWS })]);
  await lock.untilWaiting(1, imported);
  scheduling.setClock('2030-01-20T00:00:05Z');
  await lock.close();
  await imported;
  expect((await only(scheduling, userId)).updateTime).toEqual(at('2030-01-20T00:00:05Z'));
  scheduling.setClock(undefined);
});

test('a material that was reviewed here keeps its schedule when a file adds a review from before the latest imported one', async ({
  scheduling,
  userId,
}) => {
  await importAndReview(scheduling, userId);
  scheduling.setClock('2030-01-26T00:00:00Z');
  const adding = (intervalDays: number, id: string, time: string) =>
    importAll(scheduling, userId, [
      card('anki:a:0', { intervalDays, lastReviewedTime: at(time), reviews: [past(id, 4, time, 4)] }),
    ]);
  expect(shown(await adding(300, '4', '2030-01-25T00:00:00Z'))).toEqual(['changed 1', 'new 1']);
  expect(shown(await adding(60, '5', '2030-01-22T00:00:00Z'))).toEqual(['changed 1', 'new 1']);
  expect(await only(scheduling, userId)).toMatchObject({ intervalDays: 24, revision: 3 });
  scheduling.setClock(undefined);
});

test('a review that was undone here keeps no schedule from them, and FSRS goes on without it', async ({
  scheduling,
  userId,
}) => {
  await scheduling.learners.updateLearnerSettings({ userId, scheduler: 'SCHEDULER_FSRS' }, CALL);
  const materialId = await importFirst(scheduling, userId);
  scheduling.setClock('2030-01-20T00:00:00Z');
  const { review } = await scheduling.reviews.submitReview({ userId, materialId, quality: 1 }, CALL);
  await scheduling.reviews.undoReview({ userId, reviewId: review?.reviewId ?? '' }, CALL);
  await importAll(scheduling, userId, [card('anki:a:0', { intervalDays: 12, reviews: REVIEWS })]);
  expect(await only(scheduling, userId)).toMatchObject({ intervalDays: 12, revision: 3 });
  scheduling.setClock('2030-02-01T00:00:00Z');
  await scheduling.reviews.submitReview({ userId, materialId, quality: 4 }, CALL);
  expect(await driftOf(scheduling, userId)).toEqual([]);
  scheduling.setClock(undefined);
});

test('FSRS does not pass over a review of here where a later one of theirs comes along', async ({
  scheduling,
  userId,
}) => {
  await scheduling.learners.updateLearnerSettings({ userId, scheduler: 'SCHEDULER_FSRS' }, CALL);
  const materialId = await importFirst(scheduling, userId);
  scheduling.setClock('2030-01-20T00:00:00Z');
  await scheduling.reviews.submitReview({ userId, materialId, quality: 1 }, CALL);
  scheduling.setClock('2030-01-26T00:00:00Z');
  const theirs = [...REVIEWS.slice(0, 2), past('3', 4, '2030-01-25T00:00:00Z', 4)];
  await importAll(scheduling, userId, [card('anki:a:0', { reviews: theirs })]);
  scheduling.setClock('2030-02-20T00:00:00Z');
  const { material } = await scheduling.reviews.submitReview({ userId, materialId, quality: 4 }, CALL);
  // Without the failure of 20 January it would be 68.
  expect(material?.intervalDays).toBe(15);
  expect(await driftOf(scheduling, userId)).toEqual([]);
  scheduling.setClock(undefined);
});

test('the undo of the only review here gives back when they had reviewed it, whatever reviews of theirs came along', async ({
  scheduling,
  userId,
}) => {
  const materialId = await importFirst(scheduling, userId);
  const { review } = await scheduling.reviews.submitReview({ userId, materialId, quality: 4 }, CALL);
  await scheduling.reviews.undoReview({ userId, reviewId: review?.reviewId ?? '' }, CALL);
  // The latest review that came along is of 20 December.
  expect((await only(scheduling, userId)).lastReviewedTime).toEqual(at('2030-01-01T00:00:00Z'));
  expect(await driftOf(scheduling, userId)).toEqual([]);
});

test('a review that came along cannot be undone, and says why', async ({ scheduling, userId }) => {
  scheduling.setClock('2029-12-25T12:00:00Z');
  await importAll(scheduling, userId, [card('anki:a:0', { reviews: REVIEWS.slice(0, 2) })]);
  const { reviews } = await scheduling.reviews.listReviews({ userId }, CALL);
  const undo = scheduling.reviews.undoReview({ userId, reviewId: reviews[0]?.reviewId ?? '' }, CALL);
  await expect(undo).rejects.toMatchObject({
    reason: 'MATERIAL_CHANGED',
    message: 'The material was snoozed, edited, archived or imported since.',
  });
  scheduling.setClock(undefined);
});

test('a review that was undone here after others of theirs came late keeps no later schedule from them', async ({
  scheduling,
  userId,
}) => {
  scheduling.setClock('2030-01-05T00:00:00Z');
  await importAll(scheduling, userId, [card('anki:a:0', { reviews: REVIEWS.slice(1) })]);
  const { materialId } = await only(scheduling, userId);
  const grade = () => scheduling.reviews.submitReview({ userId, materialId, quality: 4 }, CALL);
  await grade();
  await importAll(scheduling, userId, [card('anki:a:0', { reviews: REVIEWS })]);
  scheduling.setClock('2030-01-10T00:00:00Z');
  const { review } = await grade();
  await scheduling.reviews.undoReview({ userId, reviewId: review?.reviewId ?? '' }, CALL);
  const lastReviewedTime = at('2030-01-08T00:00:00Z');
  await importAll(scheduling, userId, [
    card('anki:a:0', {
      intervalDays: 28,
      lastReviewedTime,
      reviews: [...REVIEWS, past('4', 4, '2030-01-08T00:00:00Z', 7)],
    }),
  ]);
  expect(await only(scheduling, userId)).toMatchObject({ intervalDays: 28, lastReviewedTime });
  expect(await driftOf(scheduling, userId)).toEqual([]);
});

test('a text that has changed there is taken and found, also where the time of its change has not', async ({
  scheduling,
  userId,
}) => {
  await importAll(scheduling, userId, [card('anki:a:0')]);
  expect(shown(await importAll(scheduling, userId, [card('anki:a:0', { title: 'New' })]))).toEqual([
    'changed 1',
    '',
  ]);
  expect((await only(scheduling, userId)).title).toBe('New');
  const found = async (query: string) =>
    (await scheduling.materials.listMaterials({ userId, query }, CALL)).materials.length;
  expect([await found('new'), await found('card')]).toEqual([1, 0]);
});

test('a text that was edited here stays, unless theirs is newer', async ({ scheduling, userId }) => {
  await importAll(scheduling, userId, [card('anki:a:0')]);
  const { materialId } = await only(scheduling, userId);
  await scheduling.materials.updateMaterial({ userId, materialId, title: 'Mine' }, CALL);
  const theirs = (title: string, time: string) => card('anki:a:0', { title, updateTime: at(time) });
  expect(shown(await importAll(scheduling, userId, [theirs('Theirs', '2022-01-01T00:00:00Z')]))).toEqual([
    'unchanged 1',
    '',
  ]);
  expect((await only(scheduling, userId)).title).toBe('Mine');
  expect(shown(await importAll(scheduling, userId, [theirs('Newest', '2200-01-01T00:00:00Z')]))).toEqual([
    'changed 1',
    '',
  ]);
  expect((await only(scheduling, userId)).title).toBe('Newest');
});

test('a schedule that is taken ends what a snooze could give back', async ({ scheduling, userId }) => {
  await importAll(scheduling, userId, [card('anki:a:0')]);
  const { materialId } = await only(scheduling, userId);
  const snoozeUntilTime = at('2040-01-01T00:00:00Z');
  await scheduling.snoozes.snoozeMaterials({ userId, materialIds: [materialId], snoozeUntilTime }, CALL);
  expect(shown(await importAll(scheduling, userId, [card('anki:a:0')]))).toEqual(['unchanged 1', '']);
  expect((await only(scheduling, userId)).nextReviewTime).toEqual(snoozeUntilTime);
  await importAll(scheduling, userId, [card('anki:a:0', { intervalDays: 11 })]);
  const { snoozes } = await scheduling.snoozes.listSnoozes({ userId }, CALL);
  expect(snoozes[0]?.cancellableMaterials).toBe(0);
  expect(await driftOf(scheduling, userId)).toEqual([]);
});

test('a snooze stays where reviews of theirs come late, and where the same file comes twice', async ({
  scheduling,
  userId,
}) => {
  await importAll(scheduling, userId, [card('anki:a:0', { reviews: REVIEWS.slice(1) })]);
  const { materialId } = await only(scheduling, userId);
  const snoozeUntilTime = at('2040-01-01T00:00:00Z');
  await scheduling.snoozes.snoozeMaterials({ userId, materialIds: [materialId], snoozeUntilTime }, CALL);
  const all = card('anki:a:0', { reviews: REVIEWS });
  expect(shown(await importAll(scheduling, userId, [all]))).toEqual(['changed 1', 'new 1, unchanged 2']);
  expect(shown(await importAll(scheduling, userId, [all]))).toEqual(['unchanged 1', 'unchanged 3']);
  expect((await only(scheduling, userId)).nextReviewTime).toEqual(snoozeUntilTime);
  const { snoozes } = await scheduling.snoozes.listSnoozes({ userId }, CALL);
  expect(snoozes[0]?.cancellableMaterials).toBe(1);
  expect(await driftOf(scheduling, userId)).toEqual([]);
});

test.for([
  ['was undone', 3],
  ['counts', 2],
] as const)(
  'a snooze stays and can be cancelled where a review of here %s, reviews of theirs come late, and the same file comes again',
  async ([what, revision], { scheduling, userId }) => {
    await scheduling.learners.updateLearnerSettings({ userId, scheduler: 'SCHEDULER_FSRS' }, CALL);
    await importAll(scheduling, userId, [card('anki:a:0', { reviews: REVIEWS.slice(1) })]);
    const { materialId } = await only(scheduling, userId);
    scheduling.setClock('2030-01-20T00:00:00Z');
    const { review } = await scheduling.reviews.submitReview({ userId, materialId, quality: 4 }, CALL);
    if (what === 'was undone')
      await scheduling.reviews.undoReview({ userId, reviewId: review?.reviewId ?? '' }, CALL);
    const { nextReviewTime } = await only(scheduling, userId);
    const snoozeUntilTime = at('2040-01-01T00:00:00Z');
    await scheduling.snoozes.snoozeMaterials({ userId, materialIds: [materialId], snoozeUntilTime }, CALL);
    expect(await only(scheduling, userId)).toMatchObject({ nextReviewTime: snoozeUntilTime, revision });
    const all = card('anki:a:0', { reviews: REVIEWS });
    expect(shown(await importAll(scheduling, userId, [all]))).toEqual(['changed 1', 'new 1, unchanged 2']);
    for (const _ of [1, 2])
      expect(shown(await importAll(scheduling, userId, [all]))).toEqual(['unchanged 1', 'unchanged 3']);
    expect(await only(scheduling, userId)).toMatchObject({ nextReviewTime: snoozeUntilTime });
    expect(await driftOf(scheduling, userId)).toEqual([]);
    const { snoozes } = await scheduling.snoozes.listSnoozes({ userId }, CALL);
    await scheduling.snoozes.cancelSnooze({ userId, snoozeId: snoozes[0]?.snoozeId ?? '' }, CALL);
    expect(await only(scheduling, userId)).toMatchObject({ nextReviewTime });
    expect(await driftOf(scheduling, userId)).toEqual([]);
    scheduling.setClock(undefined);
  },
);

test.for([
  ['a longer interval', { intervalDays: 11 }],
  ['an earlier time alone', { nextReviewTime: at('2021-01-01T00:00:00Z') }],
] as const)(
  'a schedule of theirs with %s is taken where a review of here was undone, though reviews of theirs came late',
  async ([_what, change], { scheduling, userId }) => {
    await importAll(scheduling, userId, [card('anki:a:0', { reviews: REVIEWS.slice(1) })]);
    const { materialId } = await only(scheduling, userId);
    const { review } = await scheduling.reviews.submitReview({ userId, materialId, quality: 4 }, CALL);
    await scheduling.reviews.undoReview({ userId, reviewId: review?.reviewId ?? '' }, CALL);
    await importAll(scheduling, userId, [card('anki:a:0', { reviews: REVIEWS })]);
    const newer = card('anki:a:0', { ...change, reviews: REVIEWS });
    expect(shown(await importAll(scheduling, userId, [newer]))).toEqual(['changed 1', 'unchanged 3']);
    expect(await only(scheduling, userId)).toMatchObject(change);
    expect(await driftOf(scheduling, userId)).toEqual([]);
  },
);

test('a material that was deleted here comes back as new; one of another user is not touched', async ({
  scheduling,
  userId,
}) => {
  const other = newUserId();
  await importAll(scheduling, other, [card('anki:a:0', { reviews: REVIEWS })]);
  await importAll(scheduling, userId, [card('anki:a:0', { reviews: REVIEWS })]);
  const { materialId } = await only(scheduling, userId);
  await scheduling.materials.deleteMaterial({ userId, materialId }, CALL);
  expect(shown(await importAll(scheduling, userId, [card('anki:a:0', { reviews: REVIEWS })]))).toEqual([
    'new 1',
    'new 3',
  ]);
  expect((await only(scheduling, other)).materialId).not.toBe(materialId);
});

test('after the deletion of the user an import is refused', async ({ scheduling, userId }) => {
  await scheduling.userData.deleteUserData({ userId }, CALL);
  expect(await refusal(importAll(scheduling, userId, [card('anki:a:0')]))).toBe('NOT_FOUND user_id');
});

const REVIEWS = [
  past('1', 2, '2029-12-01T08:00:00Z', 0),
  past('2', 4, '2029-12-20T08:00:00Z', 3),
  past('3', 5, '2030-01-01T00:00:00Z', 4),
];

const BAD: readonly [string, MaterialRecordInput, string[]][] = [
  ['an empty title', card('s', { title: '' }), ['leftOut 1', '', 'TITLE 1']],
  ['a title of 241 characters', card('s', { title: 'x'.repeat(241) }), ['leftOut 1', '', 'TITLE 1']],
  ['a content of 262,145 bytes', card('s', { content: 'x'.repeat(262_145) }), ['leftOut 1', '', 'TEXT 1']],
  ['U+0000 in the content', card('s', { content: 'a\u0000' }), ['leftOut 1', '', 'TEXT 1']],
  ['a source URL that is none', card('s', { sourceUrl: 'no' }), ['new 1', '', 'SOURCE_URL 1']],
  ['a label that is none', card('s', { labels: ['a', 'b/'] }), ['new 1', '', 'LABEL 1']],
  ['an ease factor of 1.29', card('s', { easeFactor: 1.29 }), ['leftOut 1', '', 'SCHEDULE 1']],
  ['an interval of 36,501 days', card('s', { intervalDays: 36_501 }), ['leftOut 1', '', 'SCHEDULE 1']],
  ['a negative interval', card('s', { intervalDays: -1 }), ['leftOut 1', '', 'SCHEDULE 1']],
  ['negative repetitions', card('s', { repetitions: -1 }), ['leftOut 1', '', 'SCHEDULE 1']],
  [
    'a review time of 1900',
    card('s', { reviews: [past('1', 4, '1900-01-01T00:00:00Z'), past('2', 4, '2000-01-01T00:00:00Z')] }),
    ['new 1', 'new 1, leftOut 1', 'TIME 1'],
  ],
  [
    'a review of 9997',
    card('s', { reviews: [past('1', 4, '9997-01-01T00:00:00Z'), past('2', 4, '2000-01-01T00:00:00Z')] }),
    ['new 1', 'new 1, leftOut 1', 'TIME 1'],
  ],
  [
    'a next review in 9998',
    card('s', { nextReviewTime: at('9998-01-01T00:00:00Z'), reviews: REVIEWS }),
    ['leftOut 1', 'leftOut 3', 'TIME 1'],
  ],
  [
    'a quality of 6',
    card('s', { reviews: [past('1', 6, '2000-01-01T00:00:00Z')] }),
    ['new 1', 'leftOut 1', 'QUALITY 1'],
  ],
  [
    'a review twice',
    card('s', { reviews: [REVIEWS[0] ?? {}, REVIEWS[0] ?? {}] }),
    ['new 1', 'new 1, leftOut 1', 'DUPLICATE 1'],
  ],
  [
    'a review without an ID',
    card('s', { reviews: [past('', 4, '2000-01-01T00:00:00Z')] }),
    ['new 1', 'leftOut 1', 'ID 1'],
  ],
  ['no source', card(''), ['leftOut 1', '', 'ID 1']],
  ['a source of 501 bytes', card('s'.repeat(501)), ['leftOut 1', '', 'ID 1']],
  ['a material ID that is none', { material: { materialId: 'x', title: 'T' } }, ['leftOut 1', '', 'ID 1']],
  ['no material', { source: 's' }, ['leftOut 1', '', 'ID 1']],
];

test.for(BAD)(
  '%s is named, and the other card is stored',
  async ([, bad, [materials, ...rest]], { scheduling, userId }) => {
    const alone = await importAll(scheduling, userId, [bad]);
    expect(shown(alone)).toEqual([materials, ...rest]);
    const { materials: counts } = await importAll(scheduling, userId, [bad, card('good')]);
    expect(counts?.new).toBe(1);
  },
);

test('a problem names the first five, without control characters', async ({ scheduling, userId }) => {
  const cards = Array.from({ length: 7 }, (_, index) =>
    card(`s${index}`, { title: 'a\u001b[31m', easeFactor: 1 }),
  );
  const { problems } = await importAll(scheduling, userId, cards);
  expect(problems).toMatchObject([{ kind: 'IMPORT_PROBLEM_KIND_SCHEDULE', count: 7 }]);
  expect(problems[0]?.examples).toHaveLength(5);
  expect(problems[0]?.examples[0]).toBe('s0 "a\\u001b[31m": the ease factor is 1');
});

test('a problem cuts a title between two characters that a reader sees', async ({ scheduling, userId }) => {
  const family = '👨‍👩‍👧‍👦';
  const { problems } = await importAll(scheduling, userId, [
    card('s', { title: family.repeat(12), easeFactor: 1 }),
  ]);
  // Seven code points each, of 60.
  expect(problems[0]?.examples).toEqual([`s "${family.repeat(8)}": the ease factor is 1`]);
});

test('a source twice in one call is stored once', async ({ scheduling, userId }) => {
  const result = await importAll(scheduling, userId, [
    card('s', { reviews: REVIEWS }),
    card('s', { title: 'Other' }),
  ]);
  expect(shown(result)).toEqual(['new 1, leftOut 1', 'new 3', 'DUPLICATE 1']);
});

test('a material may go on in the next messages, and is stored whole', async ({ scheduling, userId }) => {
  const [first, ...rest] = REVIEWS;
  const begun = { ...card('s'), reviews: first ? [first] : [], continues: true };
  expect(shown(await importAll(scheduling, userId, [begun, { reviews: rest }, card('t')]))).toEqual([
    'new 2',
    'new 3',
  ]);
});

test.for([
  ['options', [{ materials: [card('s')] }]],
  ['options', [{ options: { userId: newUserId() } }, { options: { userId: newUserId() } }]],
  ['options', []],
  ['user_id', [{ options: { userId: 'x' } }]],
  ['materials', [{ options: { userId: newUserId() } }, { materials: [{ ...card('s'), continues: true }] }]],
  [
    'materials',
    [{ options: { userId: newUserId() } }, { materials: [{ ...card('s'), continues: true }, card('t')] }],
  ],
  ['settings', [{ options: { userId: newUserId() } }, { settings: [{ version: 0 }] }]],
] satisfies [string, ImportUserDataRequestInput[]][])(
  'messages out of order are refused by name: %s',
  async ([field, messages], { scheduling }) => {
    expect(await refusal(scheduling.userData.importUserData(messages, CALL))).toBe(
      `INVALID_REQUEST ${field}`,
    );
  },
);

test('two imports of one user at once store each card once', async ({ scheduling, userId }) => {
  // More than are sorted into the search index together.
  const cards = Array.from({ length: 220 }, (_, index) => card(`s${index}`, { reviews: REVIEWS.slice(2) }));
  const [one, two] = await Promise.all([
    importAll(scheduling, userId, cards),
    importAll(scheduling, userId, cards),
  ]);
  expect([one, two].map(({ materials }) => (materials?.new ?? 0) + (materials?.unchanged ?? 0))).toEqual([
    220, 220,
  ]);
  expect((one.materials?.new ?? 0) + (two.materials?.new ?? 0)).toBe(220);
  const { active } = await scheduling.materials.countMaterials({ userId }, CALL);
  expect(active).toBe(220);
});

test('somebody with many imports at once has one place in the queue', async ({ scheduling, userId }) => {
  const cards = (collection: string) =>
    Array.from({ length: 400 }, (_, index) => card(`${collection}:${index}`));
  const many = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((each) =>
    importAll(scheduling, userId, cards(each)),
  );
  const other = newUserId();
  await importAll(scheduling, other, cards('a'));
  const { active } = await scheduling.materials.countMaterials({ userId }, CALL);
  await Promise.all(many);
  // The other’s eight batches of 50 go in turn with about as many of theirs, and more if the other is late. If each import had a place,
  // all 3,200 would be stored.
  expect(active).toBeLessThanOrEqual(1600);
});

test('a plan of when the tables were empty still looks up each material by itself', async ({ userId }) => {
  const empty = await createMigratedDatabase();
  await withConnection({ connectionString: empty.databaseUrl }, async (sql) => {
    const running: Queryable = {
      query: async ({ text, values }) => (await sql.query(text, [...values])).rows,
    };
    const { db, plans } = explainOn(sql);
    // So that the statistics say that the tables are empty.
    await sql.query('VACUUM ANALYZE');
    await sql.query('BEGIN');
    await lockForImport(running, userId);
    await findKnown(db, userId, { materialIds: [newUserId()], sources: ['anki:a:0', 'anki:b:0'] });
    const plan = plans.get('find-known');
    expect(plan).toMatch(
      /Index Cond: \(\(user_id = .*\) AND \(source >= given\.source\) AND \(source <= given\.source\)\)/,
    );
    expect(plan).not.toContain('Filter:');
  });
  await empty.drop();
});

/** A card with the first two of REVIEWS. @returns its ID here. */
async function importFirst(scheduling: TestScheduling, userId: string): Promise<string> {
  await importAll(scheduling, userId, [card('anki:a:0', { reviews: REVIEWS.slice(0, 2) })]);
  return (await only(scheduling, userId)).materialId;
}

/** The same, reviewed here on 20 January 2030, where the clock then stands. */
async function importAndReview(scheduling: TestScheduling, userId: string): Promise<void> {
  const materialId = await importFirst(scheduling, userId);
  scheduling.setClock('2030-01-20T00:00:00Z');
  await scheduling.reviews.submitReview({ userId, materialId, quality: 4 }, CALL);
}

/** The only material of a user. */
async function only({ materials }: TestScheduling, userId: string) {
  const { materials: all } = await materials.listMaterials({ userId, state: 'MATERIAL_STATE_ANY' }, CALL);
  expect(all).toHaveLength(1);
  return all[0] ?? expect.unreachable();
}
const historyOf = async ({ reviews }: TestScheduling, userId: string, materialId: string) =>
  (await reviews.listReviews({ userId, materialId }, CALL)).reviews;
