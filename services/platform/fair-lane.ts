// Lets work that is costly go by itself: little of it at once, and of each holder one at a time.
import { ServiceError } from './errors.ts';

export type FairLane = {
  /**
   * Runs `work` once it is its turn: those that wait go in the order in which they came, but for holders who have one running.
   * @throws UNAVAILABLE where `signal` is aborted before, or too many of the holder wait already.
   */
  run<T>(holder: string, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
};

type Waiting = { holder: string; begin: () => void };

/** `inAll` at once; of one holder one at a time, and at most `waiting` more that wait for it. */
export function createFairLane({ inAll, waiting: most }: { inAll: number; waiting: number }): FairLane {
  const running = new Set<string>();
  let waiting: Waiting[] = [];
  const mayRun = (holder: string) => running.size < inAll && !running.has(holder);
  const next = () => {
    const found = waiting.find(({ holder }) => mayRun(holder));
    if (found === undefined) return;
    waiting = waiting.filter((each) => each !== found);
    running.add(found.holder);
    found.begin();
  };
  const turn = (holder: string, signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      const leave = () => {
        waiting = waiting.filter((each) => each !== mine);
        reject(new ServiceError('UNAVAILABLE', { cause: new Error('its caller has gone before its turn') }));
      };
      const begin = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const mine: Waiting = { holder, begin };
      waiting.push(mine);
      signal.addEventListener('abort', leave, { once: true });
    });
  return {
    async run(holder, signal, work) {
      if (mayRun(holder)) running.add(holder);
      else {
        if (waiting.filter((each) => each.holder === holder).length >= most || signal.aborted)
          throw new ServiceError('UNAVAILABLE', { cause: new Error('too many wait for costly work') });
        await turn(holder, signal);
      }
      try {
        return await work();
      } finally {
        running.delete(holder);
        next();
      }
    },
  };
}
