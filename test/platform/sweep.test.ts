// Regular deletion of what is too old, whose failures an operator reads in the log.
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createMetrics } from '../../services/platform/observability/metrics.ts';
import { createTelemetry } from '../../services/platform/observability/telemetry.ts';
import { sweepRegularly } from '../../services/platform/postgres/service-database.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('a failure is logged, and the next turn tries again', async () => {
  const asked: string[] = [];
  const { logged, stop } = start(async (before) => {
    asked.push(before.toISOString());
    if (asked.length === 1) throw new Error('the database is away');
    return asked.length < 3;
  });
  await vi.advanceTimersByTimeAsync(59_999);
  expect(asked).toEqual(['2026-11-23T11:00:00.000Z']);
  expect(logged).toMatchObject([
    { level: 40, msg: 'could not delete', err: { message: 'the database is away' } },
  ]);
  await vi.advanceTimersByTimeAsync(1);
  expect([asked.length, logged.length]).toEqual([3, 1]);
  stop();
});

test('one that fails is late, in seconds, until it succeeds', async () => {
  let isAway = true;
  const { lag, stop } = start(async () => {
    if (isAway) throw new Error('the database is away');
    return false;
  });
  await vi.advanceTimersByTimeAsync(59_999);
  expect(await lag()).toBe('srs_schedule_lag_seconds{task="test"} 0');
  await vi.advanceTimersByTimeAsync(30_001);
  expect(await lag()).toBe('srs_schedule_lag_seconds{task="test"} 30');
  isAway = false;
  await vi.advanceTimersByTimeAsync(30_000);
  expect(await lag()).toBe('srs_schedule_lag_seconds{task="test"} 0');
  stop();
});

test('once it is stopped it deletes no more, and its failure is not logged', async () => {
  const rounds: ((more: boolean | Promise<never>) => void)[] = [];
  const deleteSome = () =>
    new Promise<boolean>((resolve) => {
      rounds.push(resolve);
    });
  const [long, failing] = [start(deleteSome), start(deleteSome)];
  expect(rounds).toHaveLength(2);
  long.stop();
  failing.stop();
  rounds[0]?.(true);
  rounds[1]?.(Promise.reject(new Error('the pool is closed')));
  await vi.advanceTimersByTimeAsync(120_000);
  expect([rounds.length, long.logged, failing.logged]).toEqual([2, [], []]);
});

/** Every minute, of what is older than an hour. */
function start(deleteSome: (before: Date) => Promise<boolean>) {
  const logged: { level: number; msg: string; err: { message: string } }[] = [];
  const logger = pino({}, { write: (line: string) => void logged.push(JSON.parse(line)) });
  const sweep = { task: 'test', failure: 'could not delete', everyMs: 60_000, lifetimeMs: 3_600_000 };
  const now = () => new Date('2026-11-23T12:00:00Z');
  const metrics = createMetrics();
  const telemetry = { ...createTelemetry(), metrics };
  const lag = async () => /^srs_schedule_lag_seconds.*$/m.exec(await metrics.render())?.[0];
  return { logged, lag, stop: sweepRegularly(sweep, { now, logger, telemetry }, deleteSome) };
}
