// Runs background work, such as predictions, so that it hardly delays the calls that people wait for.
import { createFairQueue, tooLate } from '../platform/concurrency.ts';
import type { ServiceImplementation } from '../platform/grpc/handlers.ts';

/** Calls count as running until this long after the latest one ended, so that a page's next request is not delayed. */
const SERVED_MS = 500;
/** The pause after a piece of work, as a multiple of its duration: the work then takes 2 % of the time. */
const PAUSE_FACTOR = 49;
/** Bounds that pause, so that the next caller waits a few seconds at most. */
const MAX_PAUSE_MS = 4000;

export type Background = {
  /** Runs the work of a request that somebody waits for. */
  serve<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Runs background work of some tens of milliseconds: one piece at a time, users taking turns, so that many pieces of
   * one user do not delay those of others.
   * @throws UNAVAILABLE if `signal` is aborted before the start.
   */
  run<T>(userId: string, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
};

/**
 * While calls are served, each piece of work is followed by a pause, so that the work takes 2 % of the time. Otherwise
 * there is no pause. Each process sees only its own calls.
 */
export function createBackground(): Background {
  const queue = createFairQueue(1);
  let serving = 0;
  let servedUntilMs = Number.NEGATIVE_INFINITY;
  let pauseUntilMs = Number.NEGATIVE_INFINITY;
  const pause = async () => {
    for (;;) {
      const nowMs = performance.now();
      const leftMs = Math.min(serving > 0 ? nowMs + SERVED_MS : servedUntilMs, pauseUntilMs) - nowMs;
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
        await pause();
        if (signal.aborted) throw tooLate();
        const beganMs = performance.now();
        try {
          return await work();
        } finally {
          const endedMs = performance.now();
          pauseUntilMs = endedMs + Math.min(PAUSE_FACTOR * (endedMs - beganMs), MAX_PAUSE_MS);
        }
      }),
  };
}

/** Calls that may take long: background work does not make way for them. */
const PATIENT = new Set(['GetPrediction', 'ExportUserData', 'ImportUserData', 'DeleteUserData']);

/** The service with its calls going before background work, except the patient ones. */
export function withPriority(
  { service, handlers }: ServiceImplementation,
  background: Background,
): ServiceImplementation {
  const first = Object.entries(handlers).map(([rpc, handler]): [string, typeof handler] => [
    rpc,
    PATIENT.has(rpc) ? handler : (...call) => background.serve(() => handler(...call)),
  ]);
  return { service, handlers: Object.fromEntries(first) };
}
