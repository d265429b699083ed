// Makes one call of many that are asked for at the same moment.
import DataLoader from 'dataloader';

/**
 * A function whose calls of one turn of the event loop reach `callAll` together, at most `max` at a time, and get what it
 * answers in their order: a value, or the error of that one call. What `callAll` throws is every call's. Nothing is
 * remembered. `schedule` runs its argument when the turn is over; default: once the promises of now have settled.
 */
export function coalesce<Q, R>(
  callAll: (requests: readonly Q[]) => Promise<readonly (R | Error)[]>,
  { max, schedule }: { max: number; schedule?: (run: () => void) => void },
): (request: Q) => Promise<R> {
  const loader = new DataLoader<Q, R>(callAll, {
    cache: false,
    maxBatchSize: max,
    ...(schedule && { batchScheduleFn: schedule }),
  });
  return (request) => loader.load(request);
}

/** After all sockets that have something to read now were read: requests of different connections meet. */
export const afterThisTurn = (run: () => void): void => void setImmediate(run);
