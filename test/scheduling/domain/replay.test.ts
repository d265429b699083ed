// Proves which histories contradict themselves or their material, and what is said about each.
import { expect, test } from 'vitest';
import type { Material } from '../../../services/scheduling/materials/material.ts';
import { DEFAULT_PARAMETERS } from '../../../services/scheduling/reviews/fsrs.ts';
import { type Review, reviewMaterial } from '../../../services/scheduling/reviews/review.ts';
import { DEFAULT_SETTINGS, type Settings } from '../../../services/scheduling/reviews/scheduler.ts';
import { findDrift, type SnoozeOfMaterial } from '../../../services/scheduling/user-data/replay.ts';

test('a history that follows, in any order of its rows and with an edit between, has nothing to say', () => {
  expect(findDrift(fresh, [], [])).toEqual([]);
  expect(findDrift(reviewed, [gradeOf3, gradeOf5], [snooze])).toEqual([]);
  expect(findDrift(reviewed, [gradeOf5, gradeOf3], [snooze])).toEqual([]);
  expect(findDrift({ ...reviewed, revision: 5 }, [gradeOf3, gradeOf5], [snooze])).toEqual([]);
});

test('a snooze that leaves a later review where it is follows as well', () => {
  const later = { ...snooze, revision: 5, beforeNextReviewTime: secondDue, afterNextReviewTime: secondDue };
  expect(findDrift({ ...reviewed, revision: 5 }, [gradeOf3, gradeOf5], [snooze, later])).toEqual([]);
});

test('a material without a history has the initial schedule, due at its creation and never reviewed', () => {
  expect(findDrift({ ...fresh, ...once, nextReviewTime: null }, [], [])).toEqual([
    'the schedule is (ease factor 2.36, interval 1, repetitions 1, due never) where (ease factor 2.50, interval 0, repetitions 0, due 2026-12-01T10:00:00.000Z) follows',
  ]);
  expect(findDrift({ ...fresh, lastReviewedTime: firstReview }, [], [])).toEqual([
    'last reviewed is 2026-12-02T09:30:00.000Z where never follows',
  ]);
});

test('a material that was never marked as reviewed, or at another time, differs from its last review', () => {
  expect(findDrift({ ...reviewed, lastReviewedTime: null }, [gradeOf3, gradeOf5], [snooze])).toEqual([
    'last reviewed is never where 2026-12-03T12:00:00.000Z follows',
  ]);
  expect(findDrift({ ...reviewed, lastReviewedTime: firstReview }, [gradeOf3, gradeOf5], [snooze])).toEqual([
    'last reviewed is 2026-12-02T09:30:00.000Z where 2026-12-03T12:00:00.000Z follows',
  ]);
});

test('a review has to begin with what its predecessor left', () => {
  expect(findDrift(reviewed, [gradeOf5], [])).toEqual([
    'before review 4, the schedule is (ease factor 2.36, interval 1, repetitions 1, due 2026-12-03T09:30:00.000Z) where (ease factor 2.50, interval 0, repetitions 0, due 2026-12-01T10:00:00.000Z) follows',
  ]);
});

test('a review has to end with what its grade gives, and the material with what the review stored', () => {
  const easier = { ...gradeOf5, after: { ...twice, easeFactorHundredths: 250, nextReviewTime: secondDue } };
  expect(findDrift(reviewed, [gradeOf3, easier], [snooze])).toEqual([
    'after review 4, the schedule is (ease factor 2.50, interval 6, repetitions 2, due 2026-12-09T12:00:00.000Z) where (ease factor 2.46, interval 6, repetitions 2, due 2026-12-09T12:00:00.000Z) follows',
    'the schedule is (ease factor 2.46, interval 6, repetitions 2, due 2026-12-09T12:00:00.000Z) where (ease factor 2.50, interval 6, repetitions 2, due 2026-12-09T12:00:00.000Z) follows',
  ]);
});

test('a snooze has to begin with what its predecessor left, and to end with the later of the two instants', () => {
  const wrong = { ...snooze, beforeNextReviewTime: null, afterNextReviewTime: firstDue };
  expect(findDrift({ ...fresh, nextReviewTime: firstDue, revision: 1 }, [], [wrong])).toEqual([
    'before snooze 1, the schedule is (ease factor 2.50, interval 0, repetitions 0, due never) where (ease factor 2.50, interval 0, repetitions 0, due 2026-12-01T10:00:00.000Z) follows',
    'after snooze 1, the schedule is (ease factor 2.50, interval 0, repetitions 0, due 2026-12-03T09:30:00.000Z) where (ease factor 2.50, interval 0, repetitions 0, due 2026-12-02T09:00:00.000Z) follows',
  ]);
});

test('a cancelled snooze gives back the time of before it, and has to begin with what the snooze left', () => {
  const cancelled = { ...snooze, cancelRevision: 3 };
  expect(findDrift({ ...fresh, revision: 3 }, [], [cancelled])).toEqual([]);
  const extended = {
    ...snooze,
    revision: 2,
    beforeNextReviewTime: snoozedUntil,
    afterNextReviewTime: firstDue,
    snoozeUntilTime: firstDue,
  };
  expect(
    findDrift(
      { ...fresh, revision: 4 },
      [],
      [
        { ...cancelled, cancelRevision: 4 },
        { ...extended, cancelRevision: 3 },
      ],
    ),
  ).toEqual([]);
  expect(findDrift({ ...fresh, revision: 3 }, [], [cancelled, extended])).toEqual([
    'before the cancellation 3, the schedule is (ease factor 2.50, interval 0, repetitions 0, due 2026-12-02T09:00:00.000Z) where (ease factor 2.50, interval 0, repetitions 0, due 2026-12-03T09:30:00.000Z) follows',
  ]);
  expect(findDrift({ ...fresh, nextReviewTime: snoozedUntil, revision: 3 }, [], [cancelled])).toEqual([
    'the schedule is (ease factor 2.50, interval 0, repetitions 0, due 2026-12-02T09:00:00.000Z) where (ease factor 2.50, interval 0, repetitions 0, due 2026-12-01T10:00:00.000Z) follows',
  ]);
});

test('an undone review gives back what was before it, and has to begin with what the review left', () => {
  const undone = { ...gradeOf5, undo: { undoTime: secondReview, actor: 'gateway/olga', revision: 5 } };
  const again = { ...gradeOf5, reviewId: 'again', revision: 6 };
  const back = { ...reviewed, ...once, nextReviewTime: firstDue, lastReviewedTime: firstReview, revision: 5 };
  expect(findDrift(back, [undone, gradeOf3], [snooze])).toEqual([]);
  expect(findDrift({ ...reviewed, revision: 6 }, [undone, again, gradeOf3], [snooze])).toEqual([]);
  expect(findDrift({ ...reviewed, revision: 5 }, [undone, gradeOf3], [snooze])).toEqual([
    'the schedule is (ease factor 2.46, interval 6, repetitions 2, due 2026-12-09T12:00:00.000Z) where (ease factor 2.36, interval 1, repetitions 1, due 2026-12-03T09:30:00.000Z) follows',
    'last reviewed is 2026-12-03T12:00:00.000Z where 2026-12-02T09:30:00.000Z follows',
  ]);
  const early = { ...undone, undo: { ...undone.undo, revision: 3 } };
  expect(findDrift({ ...reviewed, revision: 4 }, [early, gradeOf3], [snooze])).toContain(
    'before the undo 3, the schedule is (ease factor 2.46, interval 6, repetitions 2, due 2026-12-09T12:00:00.000Z) where (ease factor 2.36, interval 1, repetitions 1, due 2026-12-03T09:30:00.000Z) follows',
  );
});

test('a spread puts a material off until a day of its own, which lies within it', () => {
  const day = new Date('2026-12-02T00:00:00.000Z');
  const spread = { ...snooze, spreadDays: 3, snoozeUntilTime: firstDue, afterNextReviewTime: day };
  const at = (nextReviewTime: Date) => ({ ...fresh, nextReviewTime, revision: 1 });
  expect(findDrift(at(day), [], [spread])).toEqual([]);
  expect(findDrift(at(firstDue), [], [{ ...spread, afterNextReviewTime: firstDue }])).toEqual([]);
  expect(findDrift(at(secondDue), [], [{ ...spread, afterNextReviewTime: secondDue }])).toEqual([
    'after snooze 1, the schedule is (ease factor 2.50, interval 0, repetitions 0, due 2026-12-09T12:00:00.000Z) where (ease factor 2.50, interval 0, repetitions 0, due 2026-12-03T09:30:00.000Z) follows',
  ]);
  expect(findDrift({ ...fresh, revision: 2 }, [], [{ ...spread, cancelRevision: 2 }])).toEqual([]);
});

test('no two entries have one revision, and the material is at the last one or beyond it', () => {
  expect(findDrift({ ...reviewed, revision: 3 }, [gradeOf3, { ...gradeOf5, revision: 2 }], [snooze])).toEqual(
    ['revision 2 comes after revision 2'],
  );
  expect(findDrift({ ...reviewed, revision: 3 }, [gradeOf3, gradeOf5], [snooze])).toEqual([
    'revision is 3 where 4 was written',
  ]);
  expect(
    findDrift({ ...fresh, nextReviewTime: snoozedUntil, revision: 1 }, [], [{ ...snooze, revision: 0 }]),
  ).toEqual(['revision 0 comes after revision 0']);
});

test('reviews that alternate between versions of the settings follow each from all before it that count', () => {
  const versions: Settings[] = [
    { ...DEFAULT_SETTINGS, version: 1, scheduler: 'fsrs' },
    {
      ...DEFAULT_SETTINGS,
      version: 2,
      scheduler: 'fsrs',
      parameters: DEFAULT_PARAMETERS.map((w) => w * 1.2),
    },
    { ...DEFAULT_SETTINGS, version: 3 },
  ];
  let material = fresh;
  let reviews: Review[] = [];
  const review = (version: number, time: string) => {
    // The whole history, so that the memory is that of a replay from its start.
    const history = reviews.filter(({ undo }) => undo === null);
    const settings = versions[version - 1] ?? DEFAULT_SETTINGS;
    const grade = { reviewId: time, quality: 4, reviewTime: new Date(time), requestId: null } as const;
    const reviewed = reviewMaterial({ material, settings, history }, grade);
    material = reviewed.material;
    reviews.push(reviewed.review);
  };
  const undo = (time: string) => {
    const last = reviews.findLast((each) => each.undo === null);
    if (last === undefined) throw new Error('there is no review to undo');
    const revision = material.revision + 1;
    const undone = { ...last, undo: { undoTime: new Date(time), actor: 'gateway/olga', revision } };
    reviews = reviews.map((each) => (each === last ? undone : each));
    const lastReviewedTime = reviews.findLast((each) => each.undo === null)?.reviewTime ?? null;
    material = { ...material, ...last.before, lastReviewedTime, revision };
  };
  review(1, '2026-12-02T10:00:00Z');
  review(2, '2026-12-04T10:00:00Z');
  review(1, '2026-12-09T10:00:00Z');
  review(3, '2026-12-20T10:00:00Z');
  review(2, '2027-01-10T10:00:00Z');
  review(1, '2027-01-12T10:00:00Z');
  undo('2027-01-12T11:00:00Z');
  undo('2027-01-12T12:00:00Z');
  review(1, '2027-03-01T10:00:00Z');
  review(2, '2027-06-01T10:00:00Z');
  expect(reviews.map(({ after }) => after.intervalDays)).toEqual([2, 19, 30, 75, 204, 136, 233, 710]);
  expect(findDrift(material, reviews, [], versions)).toEqual([]);
});

test('reviews by FSRS follow in the order of time, also where a clock was set back over midnight', () => {
  const settings: Settings = { ...DEFAULT_SETTINGS, version: 1, scheduler: 'fsrs' };
  let material = fresh;
  const reviews: Review[] = [];
  for (const time of ['2026-12-04T00:10:00Z', '2026-12-03T23:50:00Z', '2026-12-20T10:00:00Z']) {
    const history = reviews.toSorted((a, b) => a.reviewTime.getTime() - b.reviewTime.getTime());
    const grade = { reviewId: time, quality: 4, reviewTime: new Date(time), requestId: null } as const;
    const reviewed = reviewMaterial({ material, settings, history }, grade);
    material = reviewed.material;
    reviews.push(reviewed.review);
  }
  expect(reviews.map(({ after }) => after.intervalDays)).toEqual([2, 2, 49]);
  expect(findDrift(material, reviews, [], [settings])).toEqual([]);
});

const created = new Date('2026-12-01T10:00:00.000Z');
const snoozed = new Date('2026-12-01T11:00:00.000Z');
const snoozedUntil = new Date('2026-12-02T09:00:00.000Z');
const firstReview = new Date('2026-12-02T09:30:00.000Z');
const firstDue = new Date('2026-12-03T09:30:00.000Z');
const secondReview = new Date('2026-12-03T12:00:00.000Z');
const secondDue = new Date('2026-12-09T12:00:00.000Z');

const initial = { easeFactorHundredths: 250, intervalDays: 0, repetitions: 0 };
const once = { easeFactorHundredths: 236, intervalDays: 1, repetitions: 1 };
const twice = { easeFactorHundredths: 246, intervalDays: 6, repetitions: 2 };

const snooze: SnoozeOfMaterial = {
  revision: 1,
  snoozeUntilTime: snoozedUntil,
  createTime: snoozed,
  beforeNextReviewTime: created,
  afterNextReviewTime: snoozedUntil,
  spreadDays: null,
  cancelRevision: null,
};
const gradeOf3: Review = {
  reviewId: 'r3',
  materialId: 'm',
  quality: 3,
  reviewTime: firstReview,
  requestId: 'first',
  revision: 2,
  scheduler: 'sm2',
  settingsVersion: 0,
  undo: null,
  before: { ...initial, nextReviewTime: snoozedUntil },
  after: { ...once, nextReviewTime: firstDue },
};
const gradeOf5: Review = {
  reviewId: 'r5',
  materialId: 'm',
  quality: 5,
  reviewTime: secondReview,
  requestId: 'second',
  revision: 4,
  scheduler: 'sm2',
  settingsVersion: 0,
  undo: null,
  before: { ...once, nextReviewTime: firstDue },
  after: { ...twice, nextReviewTime: secondDue },
};
const reviewed: Material = {
  materialId: 'm',
  title: 'Hiragana',
  content: null,
  sourceUrl: null,
  type: 'card',
  ...twice,
  nextReviewTime: secondDue,
  lastReviewedTime: secondReview,
  createTime: created,
  updateTime: secondReview,
  archiveTime: null,
  labels: null,
  revision: 4,
};
const fresh: Material = {
  ...reviewed,
  ...initial,
  nextReviewTime: created,
  lastReviewedTime: null,
  updateTime: created,
  revision: 0,
};
