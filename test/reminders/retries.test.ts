// When a message that was not taken is tried again, and when no more.
import { expect, test } from 'vitest';
import { retryOrGiveUp } from '../../services/reminders/sending/retries.ts';

const dueTime = new Date('2026-07-01T09:00:00Z');
const at = (attempts: number, random: number, now = '2026-07-01T09:00:00Z', retryAfterMs?: number) =>
  retryOrGiveUp(
    { reason: 'The mail server is busy.', ...(retryAfterMs !== undefined && { retryAfterMs }) },
    { attempts, dueTime, now: new Date(now), random },
  );

test('the wait doubles from 30 s to 15 min, half of it by chance', () => {
  const waits = [1, 2, 3, 4, 5, 6, 7].map((attempts) => at(attempts, 0));
  expect(waits.map((outcome) => 'retryInMs' in outcome && outcome.retryInMs / 1000)).toEqual([
    15, 30, 60, 120, 240, 450, 450,
  ]);
  expect(at(1, 0.5)).toEqual({ state: 'pending', retryInMs: 22_500, failure: 'The mail server is busy.' });
});

test('the receiver may ask for more, but not for less', () => {
  expect(at(1, 0, undefined, 600_000)).toMatchObject({ retryInMs: 600_000 });
  expect(at(1, 0, undefined, 1000)).toMatchObject({ retryInMs: 15_000 });
});

test('two hours after the instant is the last time, a millisecond later none', () => {
  expect(at(1, 0, '2026-07-01T10:59:45.000Z')).toMatchObject({ state: 'pending' });
  expect(at(1, 0, '2026-07-01T10:59:45.001Z')).toEqual({
    state: 'failed',
    cause: 'gave up',
    failure: 'The mail server is busy. Sending was given up after 1 attempt.',
  });
});
