// What a test file leaves to the next one in its process: no spies and no false clocks. Otherwise the file fails.
import { afterAll, vi } from 'vitest';

const found = { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, Date };
const { now } = performance;

afterAll(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  const left = (Object.keys(found) as (keyof typeof found)[]).filter(
    (name) => globalThis[name] !== found[name],
  );
  if (left.length > 0 || performance.now !== now)
    throw new Error(`the file leaves a false clock: ${left.join(', ') || 'performance.now'}`);
});
