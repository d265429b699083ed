// What one user's request asks of the database, asked together with what other users' requests of the same moment do.
import { coalesce } from '../../platform/coalesce.ts';
import { ServiceError, toError } from '../../platform/errors.ts';

const MAX_TOGETHER = 16;

/**
 * `one` as a function whose calls of the same moment are made by `all`, which answers them in their order. One alone goes by
 * `one`, as does each where the users' rows lie on different nodes (`isDistributed`), so that no one statement may touch
 * those of several. Where all fail together but the database is there, each is tried alone: what is wrong with one is not
 * its neighbours' fault.
 */
export function ofUsers<Q extends { userId: string }, R>(
  one: (asked: Q) => Promise<R>,
  all: (asked: readonly Q[]) => Promise<R[]>,
  { isDistributed, atOnce }: { isDistributed: boolean; atOnce: number },
): (asked: Q) => Promise<R> {
  if (isDistributed) return one;
  const alone = (asked: readonly Q[]) => Promise.all(asked.map((each) => one(each).catch(toError)));
  const callAll = async (asked: readonly Q[]): Promise<(R | Error)[]> => {
    if (asked.length === 1) return alone(asked);
    try {
      return await all(asked);
    } catch (error) {
      if (error instanceof ServiceError && error.reason === 'UNAVAILABLE') throw error;
      return alone(asked);
    }
  };
  return coalesce(callAll, { max: MAX_TOGETHER, atOnce, holderOf: ({ userId }) => userId });
}
