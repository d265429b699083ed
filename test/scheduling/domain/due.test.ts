// Proves that a snooze only ever puts off when a material is due.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { snoozedNextReviewTime } from '../../../services/scheduling/snoozes/rules.ts';

const now = new Date('2026-12-01T10:00:00.000Z');
const earlier = new Date('2026-12-01T09:59:59.999Z');
const later = new Date('2026-12-01T10:00:00.001Z');
const muchLater = new Date('2027-01-01T00:00:00.000Z');

describe('a snooze', () => {
  test.each<[string, Date | null, Date, Date]>([
    ['takes effect on a material that was never scheduled', null, later, later],
    ['takes effect on a material that is overdue', earlier, later, later],
    ['leaves a later review where it is', muchLater, later, muchLater],
    ['until the very instant of the review changes nothing', later, later, later],
    ['until a past instant leaves an unscheduled material due now', null, earlier, now],
  ])('%s', (_, nextReviewTime, snoozeUntilTime, expected) => {
    expect(snoozedNextReviewTime(nextReviewTime, snoozeUntilTime, now)).toEqual(expected);
  });

  test('never brings a review forward, and twice is as good as once', () => {
    const anyTime = fc.date({
      min: new Date('2020-01-01'),
      max: new Date('2040-01-01'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(fc.option(anyTime), anyTime, anyTime, (nextReviewTime, snoozeUntilTime, at) => {
        const once = snoozedNextReviewTime(nextReviewTime, snoozeUntilTime, at);
        expect(once.getTime()).toBe(
          Math.max(nextReviewTime?.getTime() ?? at.getTime(), snoozeUntilTime.getTime()),
        );
        expect(snoozedNextReviewTime(once, snoozeUntilTime, at)).toEqual(once);
      }),
    );
  });
});
