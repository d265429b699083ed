// Bounds on work: how many run at once, in whose turn, and for how long.
import { unavailable } from './errors.ts';

/** Returns a function that runs `work` when fewer than `max` others run; waiting calls start in arrival order. */
export function atMost(max: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  const leave = () => {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  };
  return async (work) => {
    if (running < max) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      leave();
    }
  };
}

/** The same for each key: work of one key does not wait for that of another. Keys without work are forgotten. */
export function atMostPerKey<K>(max: number): <T>(key: K, work: () => Promise<T>) => Promise<T> {
  const limits = new Map<K, { run: ReturnType<typeof atMost>; users: number }>();
  return async (key, work) => {
    const limit = limits.get(key) ?? { run: atMost(max), users: 0 };
    limits.set(key, limit);
    limit.users += 1;
    try {
      return await limit.run(work);
    } finally {
      limit.users -= 1;
      if (limit.users === 0) limits.delete(key);
    }
  };
}

/** After each piece of work, its key pauses for as long as the work took, but no longer than this. */
const MAX_PAUSE_MS = 250;

type FairQueue = {
  /**
   * Runs `work` in arrival order, except that keys with running work, or in the pause after it, are skipped.
   * @throws UNAVAILABLE if `signal` is aborted before the start.
   */
  run<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
};

type Waiting = { key: string; begin: () => void };

/** A queue for expensive work: at most `maxRunning` at once over all keys, one at a time per key, with a pause after each. */
export function createFairQueue(maxRunning: number): FairQueue {
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
    const next = waiting.find(({ key }) => mayRun(key));
    if (next === undefined) return;
    waiting = waiting.filter((each) => each !== next);
    take(next.key);
    next.begin();
  };
  const turn = (key: string, signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      const cancel = () => {
        waiting = waiting.filter((each) => each !== mine);
        reject(tooLate());
      };
      const begin = () => {
        signal.removeEventListener('abort', cancel);
        resolve();
      };
      const mine: Waiting = { key, begin };
      waiting.push(mine);
      signal.addEventListener('abort', cancel, { once: true });
    });
  return {
    async run(key, signal, work) {
      if (signal.aborted) throw tooLate();
      if (mayRun(key)) take(key);
      else await turn(key, signal);
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

/** For work whose signal is aborted before its turn. */
export const tooLate = () => unavailable('the wait for a turn took too long, or the caller disconnected');

/** What `work` resolves to, or what `late` returns or throws if that takes longer. The work itself goes on. */
export async function within<T, L>(work: Promise<T>, timeoutMs: number, late: () => L): Promise<T | L> {
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<typeof EXPIRED>((resolve) => {
    // After a blocked event loop, setImmediate lets sockets deliver a response that has already arrived.
    timer = setTimeout(() => setImmediate(resolve, EXPIRED), timeoutMs);
  });
  try {
    const first = await Promise.race([work, expired]);
    return first === EXPIRED ? late() : first;
  } finally {
    clearTimeout(timer);
  }
}

const EXPIRED = Symbol('expired');

/** @returns whether `work` has ended within `timeoutMs`. @throws what it rejects with in that time. */
export function endsWithin(work: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  const ended = work.then(() => true);
  return within(ended, timeoutMs, () => false);
}
