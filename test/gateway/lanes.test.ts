// How many callers' lanes a gateway keeps: people who sign in are not listed in GATEWAY_TOKENS.
import { expect, test } from 'vitest';
import { createLanes } from '../../gateway/limits/lanes.ts';

test('a caller keeps the same lanes until 10,000 others have called since', () => {
  const lanesOf = createLanes();
  const first = lanesOf('ada');
  for (let other = 1; other < 10_000; other += 1) lanesOf(`other ${other}`);
  expect(lanesOf('ada')).toBe(first);
  for (let other = 1; other <= 10_000; other += 1) lanesOf(`another ${other}`);
  expect(lanesOf('ada')).not.toBe(first);
});
