// Work in the background, such as predictions, which makes room for all calls that somebody waits for.
import { createFairQueue, tooLate } from '../platform/concurrency.ts';
import type { ServiceImplementation } from '../platform/grpc/handlers.ts';

/** Others count as being served until so long after the end of their latest request, so that a page's next request still finds room. */
const SERVED_MS = 500;
/** Rests as many times as long as the work: 2 % of the time, so that nearly no request meets it. */
const REST_TIMES = 49;
/** So that the next caller waits seconds at most. */
const MAX_REST_MS = 4000;

export type Background = {
  /** Runs the work of a request that somebody waits for. */
  serve<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Runs work that can wait, some tens of milliseconds long: one at a time, of users in turn, so that many for one do not delay those
   * of others.
   * @throws UNAVAILABLE if `signal` is aborted before the start.
   */
  run<T>(userId: string, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
};

/**
 * While there are requests, work rests after each piece, and has 2 % of the time. Without requests it never rests. Each process knows
 * only its own.
 */
export function createBackground(): Background {
  const queue = createFairQueue(1);
  let serving = 0;
  let servedUntilMs = Number.NEGATIVE_INFINITY;
  let restsUntilMs = Number.NEGATIVE_INFINITY;
  const rest = async () => {
    for (;;) {
      const nowMs = performance.now();
      const leftMs = Math.min(serving > 0 ? nowMs + SERVED_MS : servedUntilMs, restsUntilMs) - nowMs;
      if (leftMs <= 0) return;
      await new Promise((resolve) => setTimeout(resolve, leftMs));
    }
  };
  return {
    async serve(work) {
      serving += 1;
      try {
        return await work();
      } finally {
        serving -= 1;
        servedUntilMs = performance.now() + SERVED_MS;
      }
    },
    run: (userId, signal, work) =>
      queue.run(userId, signal, async () => {
        await rest();
        if (signal.aborted) throw tooLate();
        const beganMs = performance.now();
        try {
          return await work();
        } finally {
          const endedMs = performance.now();
          restsUntilMs = endedMs + Math.min(REST_TIMES * (endedMs - beganMs), MAX_REST_MS);
        }
      }),
  };
}

/** Calls that may wait, or take long: they make no others wait. */
const PATIENT = new Set(['GetPrediction', 'ExportUserData', 'ImportUserData', 'DeleteUserData']);

/** The service, whose other calls go before work in the background. */
export function servedFirst(
  { service, handlers }: ServiceImplementation,
  background: Background,
): ServiceImplementation {
  const first = Object.entries(handlers).map(([rpc, handler]): [string, typeof handler] => [
    rpc,
    PATIENT.has(rpc) ? handler : (...call) => background.serve(() => handler(...call)),
  ]);
  return { service, handlers: Object.fromEntries(first) };
}
