// The SQL of push subscriptions.
import type { Queryable } from '../../platform/postgres/database.ts';

export type Subscription = {
  userId: string;
  subscriptionId: string;
  endpoint: string;
  p256dh: string;
  auth: string;
  createTime: Date;
};

const COLUMNS = `s.user_id AS "userId", s.subscription_id AS "subscriptionId", s.endpoint, s.p256dh, s.auth,
  s.create_time AS "createTime"`;

/** In the order in which they were registered. */
export function listSubscriptions(db: Queryable, userId: string): Promise<Subscription[]> {
  return db.query<Subscription>({
    name: 'list-subscriptions',
    text: `SELECT ${COLUMNS} FROM reminders.push_subscriptions s WHERE s.user_id = $1
           ORDER BY s.create_time, s.subscription_id`,
    values: [userId],
  });
}

/** Stores the subscription; one with the same endpoint keeps its ID and gets the new keys. @returns what is stored. */
export async function saveSubscription(
  transaction: Queryable,
  { userId, subscriptionId, endpoint, p256dh, auth, createTime }: Subscription,
): Promise<Subscription> {
  const [saved] = await transaction.query<Subscription>({
    name: 'save-subscription',
    text: `INSERT INTO reminders.push_subscriptions AS s
             (user_id, subscription_id, endpoint, p256dh, auth, create_time)
           VALUES ($1, $2, $3, $4, $5, $6)
           ON CONFLICT (user_id, endpoint) DO UPDATE SET p256dh = excluded.p256dh, auth = excluded.auth
           RETURNING ${COLUMNS}`,
    values: [userId, subscriptionId, endpoint, p256dh, auth, createTime],
  });
  if (saved === undefined) throw new Error('the upsert of a push subscription returned no row');
  return saved;
}

/** @returns whether it existed. */
export async function deleteSubscription(
  db: Queryable,
  userId: string,
  subscriptionId: string,
): Promise<boolean> {
  const rows = await db.query({
    name: 'delete-subscription',
    text: `DELETE FROM reminders.push_subscriptions WHERE user_id = $1 AND subscription_id = $2
           RETURNING subscription_id`,
    values: [userId, subscriptionId],
  });
  return rows.length > 0;
}
