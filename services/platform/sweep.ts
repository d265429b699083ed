// Deletes what is too old: at the start, and regularly.
import type { Logger } from './logging/logger.ts';
import type { Telemetry } from './observability/telemetry.ts';

/**
 * `deleteSome` deletes from before an instant, `lifetimeMs` ago, and returns whether there may be more. A failure is logged as
 * `failure`, and the next turn tries again. @returns a function that stops it.
 */
export function sweepRegularly(
  sweep: { task: string; failure: string; everyMs: number; lifetimeMs: number },
  { now, logger, telemetry }: { now: () => Date; logger: Logger; telemetry: Telemetry },
  deleteSome: (before: Date) => Promise<boolean>,
): () => void {
  const { task, failure, everyMs, lifetimeMs } = sweep;
  let [doneTime, isStopped] = [performance.now(), false];
  const run = async () => {
    try {
      const before = new Date(now().getTime() - lifetimeMs);
      while (!isStopped && (await deleteSome(before)));
      doneTime = performance.now();
    } catch (error) {
      if (!isStopped) logger.warn({ err: error }, failure);
    }
  };
  telemetry.metrics.gauge('srs_schedule_lag_seconds', () => {
    const lateMs = performance.now() - doneTime - everyMs;
    return [{ labels: { task }, value: Math.max(0, lateMs) / 1000 }];
  });
  void run();
  const timer = setInterval(() => void run(), everyMs).unref();
  return () => {
    isStopped = true;
    clearInterval(timer);
  };
}
