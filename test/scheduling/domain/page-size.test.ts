import { expect, test } from 'vitest';
import { rowsThatFit } from '../../../services/scheduling/materials/page-size.ts';

const MIB = 1024 * 1024;

test('a page holds as many materials as have texts of 1 MiB together, and one at least', () => {
  expect(rowsThatFit([])).toBe(0);
  expect(rowsThatFit([0, 0, 0])).toBe(3);
  expect(rowsThatFit([MIB / 2, MIB / 2, 0])).toBe(3);
  expect(rowsThatFit([MIB / 2, MIB / 2, 1, 0])).toBe(2);
  expect(rowsThatFit([MIB + 1, 0])).toBe(1);
});
