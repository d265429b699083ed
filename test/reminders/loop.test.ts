// How often a loop works: again at once while there is more, when it is woken, or after a pause.
import { pino } from 'pino';
import { expect, test, vi } from 'vitest';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { startLoop } from '../../services/reminders/loop.ts';

test('a loop works again at once while there is more, and a pause ends when it is woken', async () => {
  let times = 0;
  const loop = start(async () => {
    times += 1;
    return times < 3;
  });
  await expect.poll(() => times).toBe(3);
  loop.wake();
  await expect.poll(() => times).toBe(4);
  await loop.stop();
  expect(times).toBe(4);
});

test('a loop that is woken while it works works once more', async () => {
  const gate = Promise.withResolvers<void>();
  let times = 0;
  const loop = start(async () => {
    times += 1;
    await gate.promise;
    return false;
  });
  loop.wake();
  gate.resolve();
  await expect.poll(() => times).toBe(2);
  await loop.stop();
});

test('work that fails is tried again', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let times = 0;
  const loop = start(async () => {
    times += 1;
    if (times < 2) throw new Error('away');
    return false;
  });
  await vi.advanceTimersByTimeAsync(60_000);
  while (times < 2) await new Promise(setImmediate);
  await loop.stop();
  vi.useRealTimers();
});

test.each([1, 30])('work that fails %i times in a row is told once in the log', async (failures) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let times = 0;
  const work = async () => {
    times += 1;
    if (times <= failures) throw new Error('away');
    return false;
  };
  const lines: string[] = [];
  const logger = pino({}, { write: (line: string) => void lines.push(line) });
  const loop = startLoop({ name: 'test', work, idleMs: 1000, logger });
  await vi.advanceTimersByTimeAsync(60_000);
  await loop.stop();
  vi.useRealTimers();
  expect(times).toBeGreaterThan(failures);
  expect(lines).toHaveLength(1);
});

const HOUR_MS = 3_600_000;

function start(work: () => Promise<boolean>) {
  return startLoop({ name: 'test', work, idleMs: HOUR_MS, logger: createLogger('test', 'silent') });
}
