// Work that a process does again and again until it stops.
import { endsWithin } from '../platform/concurrency.ts';
import { hasReason } from '../platform/errors.ts';
import type { Logger } from '../platform/logging/logger.ts';

export type Loop = {
  /** Ends a pause; during work, the next one. */
  wake(): void;
  /** Resolves when the work in progress has ended. */
  stop(): Promise<void>;
};

/** The longest pause after an error. */
const RETRY_MS = 5000;
/** A database or service that is away for less is no news: while a process starts, its first connections may come too late. */
const BRIEF_MS = 4500;

/**
 * Runs `work` again at once while it returns true, else after `idleMs`; after an error in 5 s if that is sooner. An error is logged
 * once for a row of them; UNAVAILABLE only when the row has lasted 4.5 s.
 */
export function startLoop(options: {
  name: string;
  work: () => Promise<boolean>;
  idleMs: number;
  logger: Logger;
}): Loop {
  const { name, work, idleMs, logger } = options;
  let isStopped = false;
  /** Since when each turn has failed; undefined: the latest has not. */
  let failingSinceMs: number | undefined;
  let isLogged = false;
  let woken = Promise.withResolvers<void>();
  const pause = async () => {
    await endsWithin(woken.promise, failingSinceMs !== undefined ? Math.min(idleMs, RETRY_MS) : idleMs);
    woken = Promise.withResolvers();
  };
  const run = async () => {
    while (!isStopped) {
      const hasMore = await work().then(
        (more) => {
          failingSinceMs = undefined;
          isLogged = false;
          return more;
        },
        (error: unknown) => {
          failingSinceMs ??= performance.now();
          const isBrief = hasReason(error, 'UNAVAILABLE') && performance.now() - failingSinceMs < BRIEF_MS;
          if (!isLogged && !isBrief) {
            logger.warn({ err: error, loop: name }, 'reminders cannot be worked on');
            isLogged = true;
          }
          return false;
        },
      );
      if (!hasMore && !isStopped) await pause();
    }
  };
  const ended = run();
  return {
    wake: () => woken.resolve(),
    stop() {
      isStopped = true;
      woken.resolve();
      return ended;
    },
  };
}
