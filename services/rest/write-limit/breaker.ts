// A circuit breaker for Redis: open while Redis is unavailable, closed again by a background probe.
import type { Logger } from '../../platform/logging/logger.ts';
import { toError } from '../../platform/thrown.ts';

type Breaker = {
  /** Whether Redis counts as unavailable. */
  isOpen(): boolean;
  /** Opens the breaker after a failed decision for this bucket; logs once per outage. */
  open(bucket: string, error: unknown): void;
  close(): void;
};

/** Probe interval; Redis must be in use again within two seconds. */
const PROBE_MS = 500;

/** `probe` does what a write of the bucket does, and rejects if Redis fails. */
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
    logger.info('Redis is available again and limits writes');
  };
  return {
    isOpen: () => probing !== undefined,
    open(bucket, error) {
      if (closed || probing !== undefined) return;
      const reason = toError(error).message;
      logger.warn({ reason }, 'Redis is unavailable: this process limits writes, at the same rate');
      probing = setInterval(() => void ask(bucket), PROBE_MS).unref();
    },
    close() {
      closed = true;
      stop();
    },
  };
}
