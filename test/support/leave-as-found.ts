// What every test file has in common: it leaves no spies and no false clocks to the next one, and its properties end in time.
import fc from 'fast-check';
import { afterAll, vi } from 'vitest';

const found = { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, Date };
const { now } = performance;

// One that fails tells of it before the test times out, also where it takes minutes to make its example small.
fc.configureGlobal({ interruptAfterTimeLimit: 120_000 });

afterAll(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  const left = (Object.keys(found) as (keyof typeof found)[]).filter(
    (name) => globalThis[name] !== found[name],
  );
  if (left.length > 0 || performance.now !== now)
    throw new Error(`the file leaves a false clock: ${left.join(', ') || 'performance.now'}`);
});
