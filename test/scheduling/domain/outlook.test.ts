// Proves what the coming 30 days are said to take under some settings.
import { expect, test } from 'vitest';
import { addToOutlook, type Upcoming } from '../../../services/scheduling/learners/outlook.ts';
import { createFsrs } from '../../../services/scheduling/reviews/fsrs.ts';
import { DEFAULT_SETTINGS, type Settings } from '../../../services/scheduling/reviews/scheduler.ts';
import { INITIAL_SCHEDULE } from '../../../services/scheduling/reviews/sm2.ts';

test('a new material is reviewed at once, and as often as SM-2 asks it: after 1, 6 and 15 days', () => {
  const material = { schedule: { ...INITIAL_SCHEDULE, nextReviewTime: null }, history: [] };
  const { reviews, recalled } = outlookOf(material, DEFAULT_SETTINGS);
  // The first, after 1, 6 and 15 days; and those after what was forgotten.
  expect(reviews).toBeGreaterThan(4);
  expect(reviews).toBeLessThan(6);
  expect(recalled / reviews).toBeCloseTo(0.9, 1);
});

test('what is due after 30 days takes nothing, what is due in them at least one review', () => {
  const later = { ...learnt, schedule: { ...learnt.schedule, nextReviewTime: inDays(30) } };
  expect(outlookOf(later, DEFAULT_SETTINGS)).toEqual({ reviews: 0, recalled: 0 });
  expect(outlookOf(learnt, DEFAULT_SETTINGS).reviews).toBeGreaterThanOrEqual(1);
});

test('a higher desired retention takes more reviews, and is about the share that is recalled', () => {
  const due = { ...learnt, schedule: { ...learnt.schedule, nextReviewTime: NOW } };
  const of = (retention: number) => outlookOf(due, fsrs(retention));
  expect(of(0.97).reviews).toBeGreaterThan(of(0.8).reviews);
  for (const retention of [0.7, 0.8, 0.9])
    expect(of(retention).recalled / of(retention).reviews).toBeCloseTo(retention, 1);
});

test('what was due long ago is reviewed once now, as what is due now', () => {
  const dueAt = (nextReviewTime: Date) =>
    outlookOf({ ...learnt, schedule: { ...learnt.schedule, nextReviewTime } }, DEFAULT_SETTINGS);
  expect(dueAt(inDays(-100))).toEqual(dueAt(NOW));
});

test('an imported interval of 0 days after two repetitions lasts a day, and not for ever', () => {
  const { schedule } = learnt;
  const imported = { ...schedule, intervalDays: 0, repetitions: 2, nextReviewTime: NOW };
  const { reviews } = outlookOf({ schedule: imported, history: [] }, DEFAULT_SETTINGS);
  expect(reviews).toBeGreaterThan(4);
  expect(reviews).toBeLessThan(30);
});

const NOW = new Date('2026-12-01T12:00:00Z');
const BY = { asOf: NOW, fsrs: createFsrs() };

/** Of one material. */
function outlookOf(material: Upcoming, settings: Settings) {
  const outlook = { reviews: 0, recalled: 0 };
  addToOutlook(outlook, material, settings, BY);
  return outlook;
}

const inDays = (days: number) => new Date(NOW.getTime() + days * 86_400_000);
const fsrs = (desiredRetention: number): Settings => ({
  ...DEFAULT_SETTINGS,
  scheduler: 'fsrs',
  desiredRetention,
});
/** Reviewed 1 and 7 days ago, and so due in 14 days under SM-2. */
const learnt = {
  schedule: { easeFactorHundredths: 250, intervalDays: 15, repetitions: 3, nextReviewTime: inDays(14) },
  history: [
    { quality: 4 as const, reviewTime: inDays(-8) },
    { quality: 4 as const, reviewTime: inDays(-7) },
    { quality: 4 as const, reviewTime: inDays(-1) },
  ],
};
