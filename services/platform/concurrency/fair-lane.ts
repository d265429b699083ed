// A bounded, fair queue for expensive work: few run at once, and one at a time per key, at most half of the time.
import { ServiceError } from '../errors.ts';

/** After each work, the next one of its key waits for as long as that took, at most this; other keys do not wait for it. */
const MAX_PAUSE_MS = 250;

type FairLane = {
  /**
   * Runs `work` in arrival order, except that keys with running work, or in the pause after it, are skipped.
   * @throws UNAVAILABLE if `signal` is aborted before the start, or too many of the key are already waiting.
   */
  run<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
};

type Waiting = { key: string; begin: () => void };

/** `maxRunning` over all keys; `maxWaiting` per key, beside the one that runs. */
export function createFairLane({
  maxRunning,
  maxWaiting,
}: {
  maxRunning: number;
  maxWaiting: number;
}): FairLane {
  let running = 0;
  /** Keys at work, and in the pause after it. */
  const busy = new Set<string>();
  let waiting: Waiting[] = [];
  const mayRun = (key: string) => running < maxRunning && !busy.has(key);
  const take = (key: string) => {
    running += 1;
    busy.add(key);
  };
  const startNext = () => {
    const found = waiting.find(({ key }) => mayRun(key));
    if (found === undefined) return;
    waiting = waiting.filter((each) => each !== found);
    take(found.key);
    found.begin();
  };
  const turn = (key: string, signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      const leave = () => {
        waiting = waiting.filter((each) => each !== mine);
        reject(unavailable(GONE));
      };
      const begin = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const mine: Waiting = { key, begin };
      waiting.push(mine);
      signal.addEventListener('abort', leave, { once: true });
    });
  return {
    async run(key, signal, work) {
      if (signal.aborted) throw unavailable(GONE);
      if (mayRun(key)) take(key);
      else {
        if (waiting.filter((each) => each.key === key).length >= maxWaiting)
          throw unavailable('too many requests wait for expensive work');
        await turn(key, signal);
      }
      const beganMs = performance.now();
      try {
        return await work();
      } finally {
        running -= 1;
        startNext();
        const pauseMs = Math.min(performance.now() - beganMs, MAX_PAUSE_MS);
        setTimeout(() => {
          busy.delete(key);
          startNext();
        }, pauseMs);
      }
    },
  };
}

const GONE = 'the wait for a turn took too long, or the caller disconnected';
const unavailable = (cause: string) => new ServiceError('UNAVAILABLE', { cause: new Error(cause) });
