// Proves what the seam gives for each scheduler, and that a history over any switches between them is replayed exactly.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { newMaterial } from '../../../services/scheduling/materials/material.ts';
import { DEFAULT_PARAMETERS } from '../../../services/scheduling/reviews/fsrs.ts';
import { type Review, reviewMaterial } from '../../../services/scheduling/reviews/review.ts';
import {
  DEFAULT_SETTINGS,
  nextSchedule,
  SCHEDULERS,
  type Settings,
} from '../../../services/scheduling/reviews/scheduler.ts';
import { INITIAL_SCHEDULE, QUALITIES } from '../../../services/scheduling/reviews/sm2.ts';
import { findDrift } from '../../../services/scheduling/user-data/replay.ts';

test('FSRS sets the interval; ease factor and repetitions are those of SM-2', () => {
  const reviewTime = at('2026-12-02T08:30:00.123Z');
  const schedules = QUALITIES.map((quality) =>
    nextSchedule(INITIAL_SCHEDULE, { history: [], settings: FSRS }, quality, reviewTime),
  );
  expect(schedules.map((each) => [each.intervalDays, each.easeFactorHundredths, each.repetitions])).toEqual([
    [1, 170, 0],
    [1, 196, 0],
    [1, 218, 0],
    [1, 236, 1],
    [2, 250, 1],
    [8, 260, 1],
  ]);
  expect(schedules.at(-1)?.nextReviewTime).toEqual(at('2026-12-10T08:30:00.123Z'));
});

test('to FSRS, the next review of a schedule that came without reviews is the first', () => {
  const came = { easeFactorHundredths: 250, intervalDays: 400, repetitions: 8 };
  const intervals = QUALITIES.map(
    (quality) =>
      nextSchedule(came, { history: [], settings: FSRS }, quality, at('2026-12-02T08:30:00Z')).intervalDays,
  );
  expect(intervals).toEqual([1, 1, 1, 1, 2, 8]);
});

test('two reviews on one day of the settings’ zone count once, whatever day it is in UTC', () => {
  const evening = at('2026-12-02T22:30:00Z');
  const later = at('2026-12-03T01:00:00Z');
  const intervalIn = (timeZone: string) => {
    const history = [{ quality: 4 as const, reviewTime: evening }];
    const settings = { ...FSRS, timeZone };
    return nextSchedule(INITIAL_SCHEDULE, { history, settings }, 0, later).intervalDays;
  };
  expect([intervalIn('UTC'), intervalIn('America/New_York')]).toEqual([1, 2]);
});

test('a replay by FSRS reads the grade of each of 100 reviews once, not again for each that follows', () => {
  expect(gradesReadIn([FSRS])).toBe(100);
});

test('where 100 reviews name two versions in turn, it reads each grade once for either', () => {
  expect(gradesReadIn([FSRS, { ...FSRS, version: 2 }])).toBe(199);
});

test('of 50 versions of the settings, a replay of 100 reviews reads the number of each once', () => {
  let reads = 0;
  const versions = Array.from({ length: 50 }, (_, index) => {
    const read = () => {
      reads += 1;
      return index + 2;
    };
    return Object.defineProperty({ ...FSRS }, 'version', { get: read });
  });
  gradesReadIn([FSRS], versions);
  expect(reads).toBe(50);
});

test('a replay of 1,500 reviews that name a version each is broken off, and says so', () => {
  const material = newMaterial(TEXT, at('2000-01-01T10:00:00Z'), 'm');
  const { review } = reviewMaterial(
    { material, settings: FSRS, history: [] },
    { reviewId: 'r', quality: 4, reviewTime: at('2000-01-02T10:00:00Z'), requestId: null },
  );
  const numbers = Array.from({ length: 1500 }, (_, index) => index + 1);
  const reviews = numbers.map((version) => ({ ...review, revision: version, settingsVersion: version }));
  const versions = numbers.map((version) => ({ ...FSRS, version }));
  expect(findDrift(material, reviews, [], versions).at(-1)).toBe(
    'its reviews name too many versions of the settings in turn',
  );
});

/** How often the replay of 100 reviews, which name the versions in turn, reads a grade. `others`: versions that none names. */
function gradesReadIn(versions: readonly Settings[], others: readonly Settings[] = []): number {
  let material = newMaterial(TEXT, at('2000-01-01T10:00:00Z'), 'm');
  const reviews: Review[] = [];
  let reads = 0;
  for (let day = 1; day <= 100; day += 1) {
    const reviewTime = new Date(material.createTime.getTime() + day * DAY_MS);
    const grade = { reviewId: 'r', quality: 4, reviewTime, requestId: null } as const;
    const settings = versions[day % versions.length] ?? FSRS;
    const outcome = reviewMaterial({ material, settings, history: reviews }, grade);
    material = outcome.material;
    const read = () => {
      reads += 1;
      return 4;
    };
    reviews.push(Object.defineProperty(outcome.review, 'quality', { get: read }));
  }
  reads = 0;
  expect(findDrift(material, reviews, [], [...others, ...versions])).toEqual([]);
  return reads;
}

const anySettings = fc.record({
  scheduler: fc.constantFrom(...SCHEDULERS),
  desiredRetention: fc.double({ min: 0.7, max: 0.97, noNaN: true }),
  timeZone: fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York'),
  parameters: fc.constantFrom(
    null,
    DEFAULT_PARAMETERS.map((value) => value * 1.05),
  ),
});

const DAY_MS = 86_400_000;

const anyGrade = fc.record({ quality: fc.constantFrom(...QUALITIES), lateMs: fc.nat(5 * DAY_MS) });

test('500 reviews over 50 random switches replay without drift, and each preview is what the review does', () => {
  fc.assert(
    fc.property(
      fc.array(anySettings, { minLength: 50, maxLength: 50 }),
      fc.array(anyGrade, { minLength: 500, maxLength: 500 }),
      (switches, grades) => {
        const versions = [
          DEFAULT_SETTINGS,
          ...switches.map((each, index) => ({ ...each, version: index + 1 })),
        ];
        let material = newMaterial(TEXT, at('2000-01-01T10:00:00Z'), 'm');
        const reviews: Review[] = [];
        for (const [index, { quality, lateMs }] of grades.entries()) {
          const settings = versions[Math.floor(index / 10)] ?? FSRS;
          // Not all of a long interval, so that the years suffice.
          const waitMs = Math.min(material.intervalDays, 9) * DAY_MS;
          const reviewTime = new Date(
            (material.lastReviewedTime ?? material.createTime).getTime() + waitMs + lateMs,
          );
          const toReview = { material, settings, history: reviews };
          const preview = nextSchedule(material, toReview, quality, reviewTime);
          const outcome = reviewMaterial(toReview, { reviewId: 'r', quality, reviewTime, requestId: null });
          expect(outcome.review.after).toEqual(preview);
          material = outcome.material;
          reviews.push(outcome.review);
        }
        expect(findDrift(material, reviews, [], versions)).toEqual([]);
        // Named by the wrong version, a review of FSRS no longer follows.
        const [last] = reviews.slice(-1);
        const lost = versions.filter(({ version }) => version !== last?.settingsVersion);
        expect(findDrift(material, reviews, [], lost)).not.toEqual([]);
      },
    ),
    { numRuns: 10 },
  );
});

const TEXT = { title: 'T', content: null, sourceUrl: null, type: 'card', labels: null } as const;

const FSRS: typeof DEFAULT_SETTINGS = { ...DEFAULT_SETTINGS, version: 1, scheduler: 'fsrs' };

const at = (time: string) => new Date(time);
