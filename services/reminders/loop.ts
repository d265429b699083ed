// Work that a process does again and again until it stops.
import { endsWithin } from '../platform/concurrency.ts';
import type { Logger } from '../platform/logging/logger.ts';

/** The longest pause after an error. */
const RETRY_MS = 5000;

/**
 * Runs `work` until it is stopped: again at once if it returned true, else after `idleMs`, and after an error within 5 s. Of errors in a
 * row, only the first is logged.
 */
export function startLoop(options: {
  name: string;
  work: () => Promise<unknown>;
  idleMs: number;
  logger: Logger;
}) {
  const { name, work, idleMs, logger } = options;
  let isStopped = false;
  let isFailing = false;
  let woken = Promise.withResolvers<void>();
  const pause = async () => {
    await endsWithin(woken.promise, isFailing ? Math.min(idleMs, RETRY_MS) : idleMs);
    woken = Promise.withResolvers();
  };
  const run = async () => {
    while (!isStopped) {
      const hasMore = await work().then(
        (more) => {
          isFailing = false;
          return more === true;
        },
        (error: unknown) => {
          if (!isFailing) logger.warn({ err: error, loop: name }, 'reminders cannot be worked on');
          isFailing = true;
          return false;
        },
      );
      if (!hasMore && !isStopped) await pause();
    }
  };
  const ended = run();
  return {
    /** Ends a pause; during work, the next one. */
    wake: () => woken.resolve(),
    /** Resolves when the work in progress has ended. */
    stop() {
      isStopped = true;
      woken.resolve();
      return ended;
    },
  };
}
