// The SQL of how far changes of users have been read from accounts.
import type { Queryable } from '../../platform/postgres/database.ts';
import { NIL_UUID } from '../../platform/uuid.ts';

/** Up to when changes have been read; undefined before the first time. */
export async function findReadUntil(db: Queryable): Promise<Date | undefined> {
  const [row] = await db.query<{ time: Date }>({
    name: 'find-read-until',
    text: 'SELECT c.read_until_time AS time FROM reminders.user_changes c WHERE c.user_id = $1',
    values: [NIL_UUID],
  });
  return row?.time;
}

/** Up to when all changes have been read. */
export async function setReadUntil(db: Queryable, time: Date): Promise<void> {
  await db.query({
    name: 'set-read-until',
    text: `INSERT INTO reminders.user_changes (user_id, read_until_time) VALUES ($1, $2)
           ON CONFLICT (user_id) DO UPDATE SET read_until_time = excluded.read_until_time`,
    values: [NIL_UUID, time],
  });
}
