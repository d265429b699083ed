// What time it is for a user: what the service's clock says, or for a sandbox user their test clock, which is ahead of it.
import type { Queryable } from '../platform/postgres/database.ts';
import { insertRows } from '../platform/postgres/insert.ts';
import { isSandboxUser } from '../platform/uuid.ts';

/**
 * The user's time. Only for a sandbox user a statement reads how far their clock is ahead: on `db`, which in a transaction must be the
 * transaction, so that under a lock nobody's time goes back.
 */
export type Now = (userId: string, db?: Queryable) => Date | Promise<Date>;

/** This machine's clock. */
export const machineTime = () => new Date();

export function createNow(database: Queryable, wallClock: () => Date): Now {
  return (userId, db = database) => (isSandboxUser(userId) ? timeAhead(userId, db) : wallClock());

  async function timeAhead(userId: string, db: Queryable): Promise<Date> {
    const aheadMs = await readAheadMs(db, userId);
    return new Date(wallClock().getTime() + aheadMs);
  }
}

const AHEAD = 'SELECT c.ahead_ms AS "aheadMs" FROM scheduling.test_clocks c WHERE c.user_id = $1';

/** How far a user's test clock is ahead; 0 where it was never moved. */
export async function readAheadMs(db: Queryable, userId: string): Promise<number> {
  const [row] = await db.query<{ aheadMs: number }>({
    name: 'read-test-clock',
    text: AHEAD,
    values: [userId],
  });
  return row?.aheadMs ?? 0;
}

/** Sets how far the clock of a locked user is ahead. */
export async function storeAheadMs(transaction: Queryable, userId: string, aheadMs: number): Promise<void> {
  await insertRows(transaction, 'scheduling.test_clocks', [{ userId, aheadMs }], 'userId');
}
