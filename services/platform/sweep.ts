// Deletes what is too old: at the start, and regularly.
import type { Logger } from './logging/logger.ts';
import type { Telemetry } from './observability/telemetry.ts';
import { watchLag } from './observability/telemetry.ts';

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
  const noteDone = watchLag(telemetry, task, everyMs);
  let isStopped = false;
  const run = async () => {
    try {
      const before = new Date(now().getTime() - lifetimeMs);
      while (!isStopped && (await deleteSome(before)));
      noteDone();
    } catch (error) {
      if (!isStopped) logger.warn({ err: error }, failure);
    }
  };
  void run();
  const timer = setInterval(() => void run(), everyMs).unref();
  return () => {
    isStopped = true;
    clearInterval(timer);
  };
}
