// Runs reads for several users on one node or on a Citus cluster.
import { atMost } from '../../platform/concurrency/at-most.ts';
import type { NodeGate } from '../nodes/node-gate.ts';
import type { NodeOf } from '../nodes/node-map.ts';

/** `isDistributed`: users are on several nodes, each of which has a share of the connections. */
export type Distribution = { isDistributed: boolean; gate: NodeGate; nodeOf: NodeOf };

/**
 * Calls `run` once for all requests. On a distributed database, calls it per request, so that each goes to the node with its rows;
 * undefined for a request that failed, which is then sent alone and gets its own error. `atOnce`: calls of `run` at once on a node;
 * others wait, before they enter its gate, where a wait is short. Default: no limit.
 */
export function acrossUsers<Q extends { userId: string }, R>(
  { isDistributed, gate, nodeOf }: Distribution,
  run: (requests: readonly Q[]) => Promise<R[]>,
  atOnce = Number.POSITIVE_INFINITY,
): (requests: readonly Q[]) => Promise<(R | undefined)[]> {
  const lanes = new Map<number | undefined, ReturnType<typeof atMost>>();
  const laneOf = (node: number | undefined) => {
    const lane = lanes.get(node) ?? atMost(atOnce);
    lanes.set(node, lane);
    return lane;
  };
  if (!isDistributed) return (requests) => laneOf(undefined)(() => run(requests));
  const runOne = async (request: Q) => {
    const rows = await laneOf(nodeOf(request.userId))(() =>
      gate(request.userId, () => run([request]), false),
    ).catch(() => undefined);
    return rows?.[0];
  };
  return (requests) => Promise.all(requests.map(runOne));
}
