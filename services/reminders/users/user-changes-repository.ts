// The SQL of how far changes of users have been read from accounts.
import type { Queryable } from '../../platform/postgres/database.ts';

/** The one row's. */
const NOBODY = '00000000-0000-0000-0000-000000000000';

/** Up to when changes have been read; before the first time, `start` is stored. */
export async function findReadUntil(db: Queryable, start: Date): Promise<Date> {
  const [row] = await db.query<{ time: Date }>({
    name: 'find-read-until',
    text: `INSERT INTO reminders.user_changes AS c (user_id, read_until_time) VALUES ($1, $2)
           ON CONFLICT (user_id) DO UPDATE SET read_until_time = c.read_until_time
           RETURNING c.read_until_time AS time`,
    values: [NOBODY, start],
  });
  return row?.time ?? start;
}

/** Never goes back. */
export async function setReadUntil(db: Queryable, time: Date): Promise<void> {
  await db.query({
    name: 'set-read-until',
    text: `UPDATE reminders.user_changes SET read_until_time = $2
           WHERE user_id = $1 AND read_until_time < $2`,
    values: [NOBODY, time],
  });
}
