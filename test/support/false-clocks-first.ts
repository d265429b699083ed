// The order of test files: those that replace the clock come before those whose services the worker keeps.
import { readFileSync } from 'node:fs';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The files of a worker share its process and services. A service that waits for a timer of a clock which then goes would wait for
 * ever: a facade, for instance, never hears of revocations again. vitest gives files to workers in this order.
 */
export class FalseClocksFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const ranked = (await super.sort(files)).map((file) => ({ file, rank: rankOf(file) }));
    return ranked.toSorted((a, b) => a.rank - b.rank).map(({ file }) => file);
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const text = readFileSync(moduleId, 'utf8');
  if (!text.includes('vi.useFakeTimers(')) return 2;
  return text.includes('/fixtures.ts') ? 1 : 0;
}
