// What a process remembers of the writes it decides, and of those that Redis accepted through it.
import { describe, expect, test } from 'vitest';
import { createProcessLog, recordInLog } from '../../../services/rest/write-limit/limiter.ts';

describe('the memory of the write limit', () => {
  test('holds a bucket until a write of anybody comes a minute after the last clearing', () => {
    const { log, at } = startLog();
    log.take('a');
    at(1);
    log.take('b');
    at(59_999);
    log.take('c');
    expect(log.size()).toBe(3);
    at(60_000);
    log.take('c');
    expect(log.size()).toBe(2);
    at(119_999);
    log.take('c');
    expect(log.size()).toBe(2);
    at(120_000);
    log.take('d');
    expect(log.size()).toBe(2);
  });

  test('is cleared as well after the clock was put back by a minute, which keeps what still counts', () => {
    const { log, at } = startLog(1_000_000);
    log.take('a');
    at(940_000);
    log.take('b');
    expect(log.size()).toBe(2);
    at(999_999);
    log.take('b');
    expect(log.size()).toBe(2);
    at(1_000_000);
    log.take('b');
    expect(log.size()).toBe(1);
  });
});

test('the first write leaves the window after 60 seconds, also by a clock with fractions of a millisecond', () => {
  const { log } = startLog(126_350.651);
  expect(log.take('a').untilReset).toBe(60_000);
});

describe('a write that Redis accepted', () => {
  test('is refused where two of this process are less than 59 seconds old, and counts from then on', () => {
    const { log, at } = startLog();
    expect(log.record('a')).toBeUndefined();
    at(10);
    expect(log.record('a')).toBeUndefined();
    at(58_999);
    expect(log.record('a')).toEqual({ allowed: false, remaining: 0, untilReset: 1001 });
    at(59_000);
    expect(log.record('a')).toBeUndefined();
    // The first has made room for it: those of 10 and 59,000 ms count.
    at(59_009);
    expect(log.take('a')).toEqual({ allowed: false, remaining: 0, untilReset: 1001 });
    at(60_010);
    expect(log.take('a')).toEqual({ allowed: true, remaining: 0, untilReset: 58_990 });
  });

  test('waits for no longer than a window after the clock was put back', () => {
    const { log, at } = startLog(1_000_000);
    log.record('a');
    at(1_000_010);
    log.record('a');
    at(990_000);
    expect(log.record('a')).toEqual({ allowed: false, remaining: 0, untilReset: 59_990 });
  });

  test('leaves the newest in the log, as many as the limit', () => {
    const times: number[] = [];
    for (const now of [1, 2, 3]) recordInLog(times, { now, limit: 2 });
    expect(times).toEqual([2, 3]);
    recordInLog(times, { now: 62, limit: 2 });
    expect(times).toEqual([3, 62]);
    recordInLog(times, { now: 63, limit: 2 });
    expect(times).toEqual([62, 63]);
  });
});

/** Two writes in a minute, by a clock that the test sets. */
function startLog(startMs = 0) {
  let nowMs = startMs;
  const log = createProcessLog({ limit: 2, windowMs: 60_000, now: () => nowMs });
  return { log, at: (ms: number) => (nowMs = ms) };
}
