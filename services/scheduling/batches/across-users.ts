// Runs reads for several users on one node or on a Citus cluster.
import { toServiceError } from '../../platform/errors.ts';

/**
 * Calls `run` once for all requests. On a distributed database (`isDistributed`), calls it per request, so that each goes to the
 * node with its rows; undefined for a request whose node does not respond.
 */
export function acrossUsers<Q, R>(
  isDistributed: boolean,
  run: (requests: readonly Q[]) => Promise<R[]>,
): (requests: readonly Q[]) => Promise<(R | undefined)[]> {
  if (!isDistributed) return run;
  const runOne = async (request: Q) => {
    try {
      return (await run([request]))[0];
    } catch (error) {
      if (toServiceError(error).reason === 'UNAVAILABLE') return undefined;
      throw error;
    }
  };
  return (requests) => Promise.all(requests.map(runOne));
}
