// The SQL of sending: leases of pending deliveries, and what became of them.
import type { Queryable } from '../../platform/postgres/database.ts';
import type { ChannelName, Outcome } from '../deliveries/delivery.ts';
import type { Work } from './decision.ts';

export type LeaseKey = { userId: string; deliveryId: string; lease: number };

/**
 * Leases end by the database's clock, on which all processes agree. `statement_timestamp` bounds the scan of the index; the
 * volatile `clock_timestamp` would be compared with every pending delivery.
 */
export const LEASE = `
  WITH taken AS (
    SELECT d.user_id, d.delivery_id FROM reminders.deliveries d
    WHERE d.state = 'pending' AND d.channel = $1 AND d.attempt_time <= statement_timestamp()
    ORDER BY d.attempt_time
    LIMIT $2
    FOR UPDATE SKIP LOCKED)
  UPDATE reminders.deliveries d
  SET attempt_time = clock_timestamp() + $3 * interval '1 ms', lease = d.lease + 1
  FROM taken WHERE d.user_id = taken.user_id AND d.delivery_id = taken.delivery_id
  RETURNING d.user_id AS "userId", d.delivery_id AS "deliveryId", d.lease`;

/** Takes up to `limit` deliveries that nobody holds, those that wait longest first, for `leaseMs`. */
export function leaseDeliveries(
  db: Queryable,
  channel: ChannelName,
  { limit, leaseMs }: { limit: number; leaseMs: number },
): Promise<LeaseKey[]> {
  return db.query<LeaseKey>({ name: 'lease-deliveries', text: LEASE, values: [channel, limit, leaseMs] });
}

export type LeasedWork = Work &
  LeaseKey & {
    subscriptionId: string;
    attempts: number;
    emailIsOn: boolean;
    unsubscribeToken: Buffer;
    /** null: removed since, or none. */
    push: { endpoint: string; p256dh: string; auth: string } | null;
  };

type WorkRow = Omit<LeasedWork, 'reminder' | 'push'> & {
  isEnabled: boolean | null;
  pausedUntilTime: Date | null;
  minDue: number;
  onlyIfNotReviewedToday: boolean;
  timeZone: string;
  endpoint: string | null;
  p256dh: string;
  auth: string;
};

/** What the leased deliveries need to be sent; those that were deleted, or that another process has leased, are absent. */
export async function readLeased(db: Queryable, leases: readonly LeaseKey[]): Promise<LeasedWork[]> {
  const rows = await db.query<WorkRow>({
    name: 'read-leased',
    text: `SELECT d.user_id AS "userId", d.delivery_id AS "deliveryId", d.subscription_id AS "subscriptionId",
             d.is_test AS "isTest", d.local_date::text AS "localDate", d.due_time AS "dueTime", d.failure, d.attempts,
             d.lease,
             r.enabled AND CASE d.channel WHEN 'email' THEN r.by_email ELSE r.by_push END AS "isEnabled",
             r.paused_until_time AS "pausedUntilTime", r.min_due AS "minDue",
             r.only_if_not_reviewed_today AS "onlyIfNotReviewedToday", r.time_zone AS "timeZone",
             u.email_off_reason IS NULL AS "emailIsOn", u.unsubscribe_token AS "unsubscribeToken",
             s.endpoint, s.p256dh, s.auth
           FROM unnest($1::uuid[], $2::uuid[], $3::integer[]) AS leased (user_id, delivery_id, lease)
           JOIN reminders.deliveries d ON d.user_id = leased.user_id AND d.delivery_id = leased.delivery_id
             AND d.lease = leased.lease AND d.state = 'pending'
           JOIN reminders.users u ON u.user_id = leased.user_id
           LEFT JOIN reminders.reminders r ON r.user_id = leased.user_id AND r.reminder_id = d.reminder_id
           LEFT JOIN reminders.push_subscriptions s
             ON s.user_id = leased.user_id AND s.subscription_id = d.subscription_id`,
    values: [
      leases.map(({ userId }) => userId),
      leases.map(({ deliveryId }) => deliveryId),
      leases.map(({ lease }) => lease),
    ],
  });
  return rows.map(({ isEnabled, pausedUntilTime, minDue, onlyIfNotReviewedToday, timeZone, ...row }) => {
    const { endpoint, p256dh, auth, ...work } = row;
    const settings = { pausedUntilTime, minDue, onlyIfNotReviewedToday, timeZone };
    return {
      ...work,
      reminder: isEnabled === null ? null : { isEnabled, ...settings },
      push: endpoint === null ? null : { endpoint, p256dh, auth },
    };
  });
}

type WrittenOutcome = LeaseKey & { outcome: Outcome; attempts: number };

/**
 * Stores outcomes of leases that are still held; locks in the order of user and delivery, as deleteUserData does.
 * @returns the IDs of those deliveries.
 */
export async function writeOutcomes(
  transaction: Queryable,
  outcomes: readonly WrittenOutcome[],
  updateTime: Date,
): Promise<string[]> {
  const rows = await transaction.query<{ deliveryId: string }>({
    name: 'write-outcomes',
    text: `WITH o AS (
             SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::integer[], $4::text[], $5::text[], $6::text[],
               $7::smallint[], $8::float8[])
               AS o (user_id, delivery_id, lease, state, skip_reason, failure, attempts, retry_in_ms)),
           held AS MATERIALIZED (
             SELECT d.user_id, d.delivery_id FROM o
             JOIN reminders.deliveries d ON d.user_id = o.user_id AND d.delivery_id = o.delivery_id
             WHERE d.lease = o.lease AND d.state = 'pending'
             ORDER BY d.user_id, d.delivery_id FOR UPDATE OF d)
           UPDATE reminders.deliveries d
           SET state = o.state, skip_reason = o.skip_reason, failure = coalesce(o.failure, d.failure),
               attempts = o.attempts, attempt_time = clock_timestamp() + o.retry_in_ms * interval '1 ms',
               update_time = $9
           FROM o JOIN held ON held.user_id = o.user_id AND held.delivery_id = o.delivery_id
           WHERE d.user_id = o.user_id AND d.delivery_id = o.delivery_id
           RETURNING d.delivery_id AS "deliveryId"`,
    values: [
      outcomes.map(({ userId }) => userId),
      outcomes.map(({ deliveryId }) => deliveryId),
      outcomes.map(({ lease }) => lease),
      outcomes.map(({ outcome }) => outcome.state),
      outcomes.map(({ outcome }) => (outcome.state === 'skipped' ? outcome.skipReason : null)),
      outcomes.map(({ outcome }) => ('failure' in outcome ? (outcome.failure?.slice(0, 200) ?? null) : null)),
      outcomes.map(({ attempts }) => attempts),
      outcomes.map(({ outcome }) => (outcome.state === 'pending' ? outcome.retryInMs : 0)),
      updateTime,
    ],
  });
  return rows.map(({ deliveryId }) => deliveryId);
}

/**
 * Locks the rows of users whose refusals change; before their deliveries, as deleteUserData does.
 * @returns those of `sent` and `refused` that have a refusal, or are about to.
 */
export async function lockRefusals(
  transaction: Queryable,
  { sent, refused }: { sent: readonly string[]; refused: readonly string[] },
): Promise<Set<string>> {
  const rows = await transaction.query<{ userId: string }>({
    name: 'lock-refusals',
    text: `SELECT u.user_id AS "userId" FROM reminders.users u
           WHERE u.user_id = ANY($1::uuid[]) AND (u.email_refusals > 0 OR u.user_id = ANY($2::uuid[]))
           ORDER BY u.user_id FOR NO KEY UPDATE`,
    values: [[...sent, ...refused], refused],
  });
  return new Set(rows.map(({ userId }) => userId));
}

/** Counts a refusal by the mail server for each entry; the third in a row switches the user's e-mail off. */
export async function noteRefusals(
  transaction: Queryable,
  userIds: readonly string[],
  time: Date,
): Promise<void> {
  if (userIds.length === 0) return;
  await transaction.query({
    name: 'note-refusals',
    text: `UPDATE reminders.users u
           SET email_refusals = u.email_refusals + refused.count,
               email_off_reason = CASE WHEN u.email_refusals + refused.count >= 3
                 THEN coalesce(u.email_off_reason, 'refused') ELSE u.email_off_reason END,
               email_off_time = CASE WHEN u.email_refusals + refused.count >= 3
                 THEN coalesce(u.email_off_time, $2) ELSE u.email_off_time END
           FROM (SELECT user_id, count(*) AS count FROM unnest($1::uuid[]) AS user_id GROUP BY user_id) AS refused
           WHERE u.user_id = refused.user_id`,
    values: [userIds, time],
  });
}

/** Ends the row of refusals of users who were reached. */
export async function forgetRefusals(transaction: Queryable, userIds: readonly string[]): Promise<void> {
  if (userIds.length === 0) return;
  await transaction.query({
    name: 'forget-refusals',
    text: 'UPDATE reminders.users SET email_refusals = 0 WHERE user_id = ANY($1::uuid[])',
    values: [userIds],
  });
}

/** Removes push subscriptions whose push service says that they are gone. */
export async function deleteGone(
  transaction: Queryable,
  gone: readonly { userId: string; subscriptionId: string }[],
): Promise<void> {
  if (gone.length === 0) return;
  await transaction.query({
    name: 'delete-gone-subscriptions',
    text: `DELETE FROM reminders.push_subscriptions s
           USING unnest($1::uuid[], $2::uuid[]) AS gone (user_id, subscription_id)
           WHERE s.user_id = gone.user_id AND s.subscription_id = gone.subscription_id`,
    values: [gone.map(({ userId }) => userId), gone.map(({ subscriptionId }) => subscriptionId)],
  });
}
