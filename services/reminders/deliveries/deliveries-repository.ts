// The SQL of deliveries as people see them: listed, counted, forgotten.
import type { Queryable } from '../../platform/postgres/database.ts';
import type { Delivery } from './delivery.ts';

const DELIVERY_COLUMNS = `d.user_id AS "userId", d.delivery_id AS "deliveryId", d.reminder_id AS "reminderId",
  d.local_date::text AS "localDate", d.channel, d.subscription_id AS "subscriptionId", d.is_test AS "isTest",
  d.state, d.skip_reason AS "skipReason", d.failure, d.due_time AS "dueTime", d.create_time AS "createTime",
  d.update_time AS "updateTime", d.attempts`;

/** Those with an ID before or after `from`, in the order of their IDs; UUIDv7 makes this the order of time. */
export function listDeliveries(
  db: Queryable,
  userId: string,
  { limit, from, order }: { limit: number; from: string | undefined; order: 'newest first' | 'oldest first' },
): Promise<Delivery[]> {
  const [comparison, direction] = order === 'newest first' ? ['<', 'DESC'] : ['>', 'ASC'];
  return db.query<Delivery>({
    name: `list-deliveries-${direction}`,
    text: `SELECT ${DELIVERY_COLUMNS} FROM reminders.deliveries d
           WHERE d.user_id = $1 AND ($3::uuid IS NULL OR d.delivery_id ${comparison} $3)
           ORDER BY d.delivery_id ${direction}
           LIMIT $2`,
    values: [userId, limit, from ?? null],
  });
}

/** When tests of the user were made since `since`, oldest first; a test by several subscriptions counts once. */
export async function findTestTimes(db: Queryable, userId: string, since: Date): Promise<Date[]> {
  const rows = await db.query<{ time: Date }>({
    name: 'find-test-times',
    text: `SELECT min(d.create_time) AS time FROM reminders.deliveries d
           WHERE d.user_id = $1 AND d.is_test AND d.create_time > $2
           GROUP BY d.reminder_id ORDER BY 1`,
    values: [userId, since],
  });
  return rows.map(({ time }) => time);
}

/** Deletes up to `limit` deliveries made before `before`, of everyone. @returns how many. */
export async function deleteOldDeliveries(db: Queryable, before: Date, limit: number): Promise<number> {
  const rows = await db.query({
    name: 'delete-old-deliveries',
    text: `DELETE FROM reminders.deliveries d
           USING (SELECT o.user_id, o.delivery_id FROM reminders.deliveries o WHERE o.create_time < $1
                  ORDER BY o.create_time LIMIT $2) AS old
           WHERE d.user_id = old.user_id AND d.delivery_id = old.delivery_id
           RETURNING 1`,
    values: [before, limit],
  });
  return rows.length;
}
