// A bounded, fair queue for expensive work: few run at once, and one at a time per key.
import { ServiceError } from '../errors.ts';

type FairLane = {
  /**
   * Runs `work` in arrival order, except that keys with running work are skipped.
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
  const running = new Set<string>();
  let waiting: Waiting[] = [];
  const mayRun = (key: string) => running.size < maxRunning && !running.has(key);
  const startNext = () => {
    const found = waiting.find(({ key }) => mayRun(key));
    if (found === undefined) return;
    waiting = waiting.filter((each) => each !== found);
    running.add(found.key);
    found.begin();
  };
  const turn = (key: string, signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      const leave = () => {
        waiting = waiting.filter((each) => each !== mine);
        reject(
          new ServiceError('UNAVAILABLE', { cause: new Error('the caller disconnected while waiting') }),
        );
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
      if (mayRun(key)) running.add(key);
      else {
        if (waiting.filter((each) => each.key === key).length >= maxWaiting || signal.aborted)
          throw new ServiceError('UNAVAILABLE', {
            cause: new Error('too many requests wait for expensive work'),
          });
        await turn(key, signal);
      }
      try {
        return await work();
      } finally {
        running.delete(key);
        startNext();
      }
    },
  };
}
