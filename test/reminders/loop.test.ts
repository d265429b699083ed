// How often a loop works: again at once while there is more, when it is woken, or after a pause.
import { expect, test, vi } from 'vitest';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { startLoop } from '../../services/reminders/loop.ts';

const HOUR_MS = 3_600_000;

function start(work: () => Promise<boolean>) {
  return startLoop({ name: 'test', work, idleMs: HOUR_MS, logger: createLogger('test', 'silent') });
}

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
