// Reads deliveries again that have waited in a process.
import { createBatcher } from '../../platform/concurrency/batcher.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { type LeasedWork, readLeased } from './leases-repository.ts';

const BATCH = 100;
const BATCHES_AT_ONCE = 2;

/**
 * A function that reads a delivery as it is now, those of the same moment together; undefined for one that was deleted, or that
 * another process has leased.
 */
export function createReread(database: Database): (work: LeasedWork) => Promise<LeasedWork | undefined> {
  return createBatcher<LeasedWork, LeasedWork | undefined>(
    (works) => {
      const found = readLeased(database, works).then(
        (rows) => new Map(rows.map((row) => [row.deliveryId, row])),
      );
      return works.map(async ({ deliveryId }) => (await found).get(deliveryId));
    },
    { maxSize: BATCH, maxInFlight: BATCHES_AT_ONCE, fairnessKeyOf: ({ userId }) => userId },
  );
}
