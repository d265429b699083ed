// Work that a process does again and again until it stops.
import type { Logger } from '../platform/logging/logger.ts';

export type Loop = {
  /** Resolves when the work in progress has ended. */
  stop(): Promise<void>;
};

/**
 * Runs `work` again at once while it returns true, else after `idleMs`; after an error too, which is logged once for a row of them.
 */
export function startLoop(options: {
  name: string;
  work: () => Promise<boolean>;
  idleMs: number;
  logger: Logger;
}): Loop {
  const { name, work, idleMs, logger } = options;
  let isStopped = false;
  let isFailing = false;
  let wake = () => {};
  const pause = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, idleMs);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const run = async () => {
    while (!isStopped) {
      const hasMore = await work().then(
        (more) => {
          isFailing = false;
          return more;
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
    stop() {
      isStopped = true;
      wake();
      return ended;
    },
  };
}
