// Keeps a node that does not respond from occupying all database connections, which the users of the other nodes need too.
import { endsWithin } from '../../platform/concurrency.ts';
import { hasReason, ServiceError } from '../../platform/errors.ts';
import { isUuid } from '../../platform/uuid.ts';
import type { NodeOf } from './node-map.ts';

/**
 * Runs the work of a request for a user. `isAlone`: nothing else waits for it, so it may find out whether a node responds again;
 * default true. @throws UNAVAILABLE, without running it, if the user's node has no place for it.
 */
export type NodeGate = <T>(userId: string, work: () => Promise<T>, isAlone?: boolean) => Promise<T>;

/** In place of a user: work that needs all nodes. It has a share and failures of its own. */
export const EVERYONE = 'everyone';
const ALL_NODES = -1;

/** On one PostgreSQL there is nothing to keep apart. */
export const ONE_NODE: { gate: NodeGate; nodeOf: NodeOf } = {
  gate: (_, work) => work(),
  nodeOf: () => undefined,
};

/**
 * Requests at once per node, of 16 connections to the coordinator or 8 to the node. A request that fails because the node hangs
 * keeps its connection for up to 10 s: these four, two more before the third failure, then one every two seconds.
 */
const SHARE = 4;
/** The connect time-out of the pool. */
const WAIT_MS = 750;
/** A node that keeps all its places so long without an answer seems to hang; normally it answers within milliseconds. */
const SILENT_MS = 100;
/** After so many failures in a row, one request at a time finds out whether the node responds again. */
const FAILURES = 3;

type Node = { running: number; failures: number; answerTime: number; waiting: (() => void)[] };

export function createNodeGate(nodeOf: NodeOf): NodeGate {
  const nodes = new Map<number, Node>();
  const placesOf = ({ failures }: Node) => (failures >= FAILURES ? 1 : SHARE);
  const enter = async (node: Node, isAlone: boolean) => {
    const isDown = node.failures >= FAILURES;
    if ((isAlone || !isDown) && node.running < placesOf(node)) {
      if (node.running === 0) node.answerTime = performance.now();
      node.running += 1;
      return;
    }
    const isSilent = performance.now() - node.answerTime > SILENT_MS;
    if (isDown || (isSilent && !isAlone))
      throw new ServiceError('UNAVAILABLE', { cause: new Error('node is down') });
    const turn = Promise.withResolvers<void>();
    node.waiting.push(turn.resolve);
    if (await endsWithin(turn.promise, WAIT_MS)) return;
    node.waiting = node.waiting.filter((each) => each !== turn.resolve);
    throw new ServiceError('UNAVAILABLE', { cause: new Error('too many requests wait for a node') });
  };
  return async (userId, work, isAlone = true) => {
    const group = userId === EVERYONE ? ALL_NODES : isUuid(userId) ? nodeOf(userId) : undefined;
    if (group === undefined) return work();
    const node = nodes.get(group) ?? { running: 0, failures: 0, answerTime: 0, waiting: [] };
    nodes.set(group, node);
    await enter(node, isAlone);
    try {
      const result = await work();
      node.failures = 0;
      node.answerTime = performance.now();
      return result;
    } catch (error) {
      node.failures = hasReason(error, 'UNAVAILABLE') ? node.failures + 1 : 0;
      throw error;
    } finally {
      // The next one takes over the place.
      const next = node.running <= placesOf(node) ? node.waiting.shift() : undefined;
      if (next === undefined) node.running -= 1;
      else next();
    }
  };
}

/** The same handlers, whose requests pass the gate: for their user, or for everyone. Batches of several users pass it one by one. */
export function withGate<H extends Record<string, (...args: never[]) => Promise<unknown>>>(
  gate: NodeGate,
  handlers: H,
): H {
  const gated = Object.entries(handlers).map(([name, handler]) => {
    // The first argument of every handler is its request.
    const run = handler as (request: OfUsers, ...rest: unknown[]) => Promise<unknown>;
    return [
      name,
      (request: OfUsers, ...rest: unknown[]) => {
        const { requests, userIds } = request;
        const work = () => run(request, ...rest);
        if (userIds !== undefined || (requests !== undefined && requests.length !== 1)) return work();
        return gate((requests?.[0] ?? request).userId ?? EVERYONE, work);
      },
    ];
  });
  // Each handler is called as before, and under its name.
  return Object.fromEntries(gated) as H;
}

type OfUsers = { userId?: string; userIds?: readonly string[]; requests?: readonly { userId?: string }[] };
