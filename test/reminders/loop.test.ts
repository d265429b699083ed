// How often a loop works: again at once while there is more, when it is woken, or after a pause.
import { pino } from 'pino';
import { expect, test, vi } from 'vitest';
import { ServiceError } from '../../services/platform/errors.ts';
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

test.each([
  ['UNAVAILABLE for 4 s', new ServiceError('UNAVAILABLE'), 4, 0],
  ['UNAVAILABLE for 30 s', new ServiceError('UNAVAILABLE'), 30, 1],
  ['wrong once', new Error('a bug'), 1, 1],
  ['wrong 30 times', new Error('a bug'), 30, 1],
])('work that is %s is told so often in the log', async (_, error, failures, told) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  let times = 0;
  const work = async () => {
    times += 1;
    if (times <= failures) throw error;
    return false;
  };
  const lines: string[] = [];
  const logger = pino({}, { write: (line: string) => void lines.push(line) });
  const loop = startLoop({ name: 'test', work, idleMs: 1000, logger });
  await vi.advanceTimersByTimeAsync(60_000);
  await loop.stop();
  vi.useRealTimers();
  expect(times).toBeGreaterThan(failures);
  expect(lines).toHaveLength(told);
});

const HOUR_MS = 3_600_000;

function start(work: () => Promise<boolean>) {
  return startLoop({ name: 'test', work, idleMs: HOUR_MS, logger: createLogger('test', 'silent') });
}
