// Runs reads for several users on one node or on a Citus cluster.

/** `isDistributed`: users are on several nodes, which a statement over several users cannot be pushed to. */
export type Distribution = { isDistributed: boolean };

/**
 * Calls `run` once for all requests. On a distributed database, calls it per request, so that each goes to the node with its rows;
 * undefined for a request that failed, which is then sent alone and gets its own error.
 */
export function acrossUsers<Q extends { userId: string }, R>(
  { isDistributed }: Distribution,
  run: (requests: readonly Q[]) => Promise<R[]>,
): (requests: readonly Q[]) => Promise<(R | undefined)[]> {
  if (!isDistributed) return run;
  const runOne = async (request: Q) => {
    const rows = await run([request]).catch(() => undefined);
    return rows?.[0];
  };
  return (requests) => Promise.all(requests.map(runOne));
}
