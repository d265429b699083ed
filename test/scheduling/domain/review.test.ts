// Proves what a grade does to a whole material, and that a preview predicts exactly that.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Material } from '../../../services/scheduling/materials/material.ts';
import { reviewMaterial } from '../../../services/scheduling/reviews/review.ts';
import { DEFAULT_SETTINGS, nextSchedule } from '../../../services/scheduling/reviews/scheduler.ts';
import { QUALITIES } from '../../../services/scheduling/reviews/sm2.ts';

test('a first grade of 3 moves the schedule by a day, the times to the review, the revision by one', () => {
  const reviewTime = new Date('2026-12-02T08:30:00.123Z');
  const { material, review } = reviewMaterial(
    { material: fresh, ...byDefault },
    {
      reviewId: 'r',
      quality: 3,
      reviewTime,
      requestId: 'q',
    },
  );
  const nextReviewTime = new Date('2026-12-03T08:30:00.123Z');
  const schedule = { easeFactorHundredths: 236, intervalDays: 1, repetitions: 1 };
  expect(material).toEqual({
    ...fresh,
    ...schedule,
    nextReviewTime,
    lastReviewedTime: reviewTime,
    updateTime: reviewTime,
    revision: 8,
  });
  expect(review).toEqual({
    reviewId: 'r',
    materialId: 'm',
    quality: 3,
    reviewTime,
    requestId: 'q',
    before: { easeFactorHundredths: 250, intervalDays: 0, repetitions: 0, nextReviewTime: createTime },
    after: { ...schedule, nextReviewTime },
    revision: 8,
    scheduler: 'sm2',
    settingsVersion: 0,
    undo: null,
  });
});

test('a preview equals what the review at the same instant then does, for every schedule and grade', () => {
  const anySchedule = fc.record({
    easeFactorHundredths: fc.integer({ min: 130, max: 100_000 }),
    intervalDays: fc.integer({ min: 0, max: 36_500 }),
    repetitions: fc.integer({ min: 0, max: 2_147_483_647 }),
  });
  const anyTime = fc.date({ min: new Date('2020-01-01'), max: new Date('2040-01-01'), noInvalidDate: true });
  fc.assert(
    fc.property(anySchedule, fc.constantFrom(...QUALITIES), anyTime, (schedule, quality, reviewTime) => {
      const toReview = { material: { ...fresh, ...schedule }, ...byDefault };
      const preview = nextSchedule(toReview.material, toReview, quality, reviewTime);
      const grade = { reviewId: 'r', quality, reviewTime, requestId: null };
      const { material, review } = reviewMaterial(toReview, grade);
      expect(review.after).toEqual(preview);
      expect(material).toMatchObject(preview);
      expect(preview.nextReviewTime.getTime()).toBe(reviewTime.getTime() + preview.intervalDays * 86_400_000);
    }),
  );
});

const createTime = new Date('2026-12-01T10:00:00.000Z');

const byDefault = { settings: DEFAULT_SETTINGS, history: [] };

const fresh: Material = Object.freeze({
  materialId: 'm',
  title: 'Hiragana',
  content: null,
  sourceUrl: null,
  type: 'card',
  easeFactorHundredths: 250,
  intervalDays: 0,
  repetitions: 0,
  nextReviewTime: createTime,
  lastReviewedTime: null,
  createTime,
  updateTime: createTime,
  archiveTime: null,
  labels: null,
  revision: 7,
});
