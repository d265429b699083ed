// Which node of a Citus cluster has the rows of a user.
import type { Logger } from '../../platform/logging/logger.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { uuidHash } from './uuid-hash.ts';

/** The group of the node with a user's rows; undefined if it is not known. */
export type NodeOf = (userId: string) => number | undefined;

/** Shards move seldom. A stale node is harmless: every node can run every statement. */
const RENEW_MS = 10_000;

const PLACEMENTS = `
  SELECT s.shardminvalue::integer AS first, s.shardmaxvalue::integer AS last, p.groupid AS node
  FROM pg_dist_shard s JOIN pg_dist_placement p USING (shardid)
  WHERE s.logicalrelid = 'scheduling.materials'::regclass
  ORDER BY 1`;

type Placement = { first: number; last: number; node: number };

/**
 * Reads the placements of the shards, and again every 10 s, with `onRead` each time. @returns the look-up, and a function that
 * stops reading.
 */
export async function createNodeMap(
  db: Queryable,
  { onRead, logger }: { onRead: () => Promise<unknown>; logger: Logger },
): Promise<{ nodeOf: NodeOf; stop(): void }> {
  const read = () => db.query<Placement>({ text: PLACEMENTS, values: [] });
  let placements = await read();
  await onRead();
  const renew = async () => {
    placements = await read().catch((error: unknown) => {
      logger.debug({ err: error }, 'could not read the placements of shards');
      return placements;
    });
    await onRead();
  };
  const timer = setInterval(() => void renew(), RENEW_MS).unref();
  const nodeOf = (userId: string) => {
    const hash = uuidHash(userId);
    return placements.find(({ first, last }) => first <= hash && hash <= last)?.node;
  };
  return { nodeOf, stop: () => clearInterval(timer) };
}
