// Remembers that Redis is away, so that nobody waits for it, and finds out by itself when it is back.
import type { Logger } from '../../platform/logger.ts';

export type Breaker = {
  /** Whether Redis is away. */
  isOpen(): boolean;
  /** Redis failed to decide for this bucket: logged once until it is back. */
  open(bucket: string, error: unknown): void;
  close(): void;
};

/** How often Redis is asked: well within the two seconds in which it should be used again. */
const PROBE_MS = 500;

/** `probe` asks Redis the way a write of that bucket does, and rejects where that fails. */
export function createBreaker(options: {
  probe: (bucket: string) => Promise<void>;
  logger: Logger;
}): Breaker {
  const { probe, logger } = options;
  let probing: NodeJS.Timeout | undefined;
  let closed = false;
  const stop = () => {
    clearInterval(probing);
    probing = undefined;
  };
  const ask = async (bucket: string) => {
    try {
      await probe(bucket);
    } catch {
      return;
    }
    if (probing === undefined) return;
    stop();
    logger.info('Redis is back: writes are limited there again');
  };
  return {
    isOpen: () => probing !== undefined,
    open(bucket, error) {
      if (closed || probing !== undefined) return;
      const reason = error instanceof Error ? error.message : String(error);
      logger.warn({ reason }, 'Redis is away: writes are limited in this process, at the same figure');
      probing = setInterval(() => void ask(bucket), PROBE_MS).unref();
    },
    close() {
      closed = true;
      stop();
    },
  };
}
