// Which of the coming days get how many materials of a backlog.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { spread } from '../../../services/scheduling/snoozes/spread.ts';

test.for<[count: number, scheduled: number[], perDay: number | undefined, added: number[], left: number]>([
  [7, [0, 0, 0], undefined, [3, 2, 2], 0],
  [7, [5, 0, 2], undefined, [0, 5, 2], 0],
  [0, [1, 2], undefined, [0, 0], 0],
  [7, [0, 0, 0], 3, [3, 3, 1], 0],
  [7, [2, 9, 0], 3, [1, 0, 3], 3],
])('%i over days with %j due, at most %s: %j, and %i left', ([count, scheduled, perDay, added, left]) => {
  expect(spread(count, scheduled, perDay)).toEqual({ added, left });
});

const days = fc.array(fc.nat(50), { minLength: 1, maxLength: 60 });

test('none is lost or made, and no day beyond the bound gets one', () => {
  fc.assert(
    fc.property(
      fc.nat(500),
      days,
      fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined }),
      (count, scheduled, perDay) => {
        const { added, left } = spread(count, scheduled, perDay);
        expect(added.reduce((sum, each) => sum + each, left)).toBe(count);
        for (const [day, each] of added.entries()) {
          expect(each).toBeGreaterThanOrEqual(0);
          if (perDay !== undefined && each > 0)
            expect(each + (scheduled[day] ?? 0)).toBeLessThanOrEqual(perDay);
        }
      },
    ),
  );
});

test('without a bound no day that got one is more than one above another', () => {
  fc.assert(
    fc.property(fc.nat(500), days, (count, scheduled) => {
      const { added } = spread(count, scheduled, undefined);
      const totals = added.map((each, day) => each + (scheduled[day] ?? 0));
      const highest = Math.max(...totals.filter((_, day) => (added[day] ?? 0) > 0), 0);
      expect(highest - Math.min(...totals)).toBeLessThanOrEqual(1);
    }),
  );
});
