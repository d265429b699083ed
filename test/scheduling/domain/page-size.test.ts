import { expect, test } from 'vitest';
import { rowsThatFit } from '../../../services/scheduling/materials/page-size.ts';

const MIB = 1024 * 1024;

test('a page holds as many materials as have texts of 2 MiB together, and one at least', () => {
  expect(rowsThatFit([])).toBe(0);
  expect(rowsThatFit([0, 0, 0])).toBe(3);
  expect(rowsThatFit([MIB, MIB, 0])).toBe(3);
  expect(rowsThatFit([MIB, MIB, 1, 0])).toBe(2);
  expect(rowsThatFit([2 * MIB + 1, 0])).toBe(1);
});
