// The SQL of sending: leases of pending deliveries, and what became of them.
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import { type Now, nowIn, nowParameter } from '../../platform/postgres/now.ts';
import type { PushAddress } from '../channels/channel.ts';
import type { ChannelName } from '../channels/registry.ts';
import type { Ending, LeasedDelivery, LeasedReminder } from './decide.ts';

/**
 * Takes pending deliveries that nobody has leased, those that wait longest first. Leases begin and end by the database's clock;
 * `statement_timestamp` bounds the scan of the index, where the volatile `clock_timestamp` would be compared with every pending
 * delivery.
 */
export const LEASE = `
  WITH taken AS (
    SELECT d.user_id, d.delivery_id FROM reminders.deliveries d
    WHERE d.state = 'pending' AND d.channel = $1 AND d.attempt_time <= statement_timestamp()
    ORDER BY d.attempt_time
    LIMIT $2
    FOR UPDATE SKIP LOCKED),
  leased AS (
    UPDATE reminders.deliveries d
    SET attempt_time = clock_timestamp() + $3 * interval '1 ms', lease = d.lease + 1, is_leased = true
    FROM taken WHERE d.user_id = taken.user_id AND d.delivery_id = taken.delivery_id
    RETURNING d.*)
  SELECT d.user_id AS "userId", d.delivery_id AS "deliveryId", d.lease, d.is_test AS "isTest",
    d.local_date::text AS "localDate", d.due_time AS "dueTime", d.failure, d.attempts,
    CASE WHEN d.channel <> 'email' THEN 0 ELSE (
      SELECT count(*) FROM reminders.deliveries e
      WHERE e.user_id = d.user_id AND e.channel = 'email' AND e.local_date = d.local_date
        AND (e.state = 'sent' OR e.state = 'pending' AND e.delivery_id < d.delivery_id)) END AS "mailsBefore",
    r.enabled AND d.channel = ANY(r.channels) AS "isEnabled", r.paused_until_time AS "pausedUntilTime",
    r.min_due AS "minDue", r.only_if_not_reviewed_today AS "onlyIfNotReviewedToday", r.time_zone AS "timeZone",
    r.minute_of_day AS "minuteOfDay", r.weekdays, r.labels,
    u.email_off_reason IS NULL AS "emailIsOn", u.unsubscribe_token AS "unsubscribeToken",
    s.endpoint, s.p256dh, s.auth, s.vapid_key AS "vapidKey", ${nowIn('$4')} AS now
  FROM leased d
  JOIN reminders.users u ON u.user_id = d.user_id
  LEFT JOIN reminders.reminders r ON r.user_id = d.user_id AND r.reminder_id = d.reminder_id
  LEFT JOIN reminders.push_subscriptions s ON s.user_id = d.user_id AND s.subscription_id = d.subscription_id`;

/** Without a reminder or a subscription, all of its columns are null. */
type LeaseRow = Omit<LeasedDelivery, 'reminder' | 'subscription'> &
  Omit<LeasedReminder, 'isEnabled'> &
  Omit<PushAddress, 'endpoint'> & { isEnabled: boolean | null; endpoint: string | null; now: Date };

/** Leases up to `limit` deliveries for `leaseMs`. `now`: the instant of the lease; undefined where there are none. */
export async function leaseDeliveries(
  db: Queryable,
  channel: ChannelName,
  { limit, leaseMs, now }: { limit: number; leaseMs: number; now: Now },
): Promise<{ deliveries: LeasedDelivery[]; now: Date | undefined }> {
  const rows = await db.query<LeaseRow>({
    name: 'lease-deliveries',
    text: LEASE,
    values: [channel, limit, leaseMs, nowParameter(now)],
  });
  const deliveries = rows.map((row) => {
    const { isEnabled, pausedUntilTime, minDue, onlyIfNotReviewedToday, timeZone } = row;
    const { minuteOfDay, weekdays, labels, endpoint, p256dh, auth, vapidKey, now: _, ...delivery } = row;
    const settings = {
      pausedUntilTime,
      minDue,
      onlyIfNotReviewedToday,
      timeZone,
      minuteOfDay,
      weekdays,
      labels,
    };
    return {
      ...delivery,
      reminder: isEnabled === null ? null : { isEnabled, ...settings },
      subscription: endpoint === null ? null : { endpoint, p256dh, auth, vapidKey },
    };
  });
  return { deliveries, now: rows[0]?.now };
}

/** Gives back leases of what was not sent. */
export async function releaseLeases(db: Queryable, deliveries: readonly LeasedDelivery[]): Promise<void> {
  if (deliveries.length === 0) return;
  await db.query({
    name: 'release-leases',
    text: `UPDATE reminders.deliveries d SET attempt_time = clock_timestamp(), is_leased = false
           FROM unnest($1::uuid[], $2::uuid[], $3::integer[]) AS ours (user_id, delivery_id, lease)
           WHERE d.user_id = ours.user_id AND d.delivery_id = ours.delivery_id AND d.lease = ours.lease
             AND d.state = 'pending'`,
    values: [
      deliveries.map(({ userId }) => userId),
      deliveries.map(({ deliveryId }) => deliveryId),
      deliveries.map(({ lease }) => lease),
    ],
  });
}

/**
 * Stores outcomes of leases that are still ours, in one transaction with what they mean for the address: refused mails of a user are
 * counted, and a subscription that is gone is removed. Locks users, deliveries and subscriptions in this order, as deleteUserData
 * does.
 * @returns what was stored, and when.
 */
export async function storeEndings(
  database: Database,
  channel: ChannelName,
  { endings, now }: { endings: readonly Ending[]; now: Now },
): Promise<(Ending & { time: Date })[]> {
  return database.transaction(async (transaction) => {
    const counted = channel === 'email' ? await lockRefusals(transaction, endings) : new Set<string>();
    const times = await storeOutcomes(transaction, endings, now);
    const stored = endings.flatMap((ending) => {
      const time = times.get(ending.delivery.deliveryId);
      return time === undefined ? [] : [{ ...ending, time }];
    });
    const ofCounted = stored.filter(({ delivery }) => counted.has(delivery.userId));
    if (ofCounted.length > 0) await countRefusals(transaction, ofCounted, now);
    await deleteGone(transaction, stored);
    return stored;
  });
}

/** @returns when, by the ID of each delivery that was stored. */
async function storeOutcomes(
  transaction: Queryable,
  endings: readonly Ending[],
  now: Now,
): Promise<Map<string, Date>> {
  const outcomes = endings.map(({ outcome }) => outcome);
  const rows = await transaction.query<{ deliveryId: string; time: Date }>({
    name: 'store-outcomes',
    text: `UPDATE reminders.deliveries d
           SET state = o.state, skip_reason = o.skip_reason,
               failure = CASE WHEN o.state <> 'sent' THEN coalesce(o.failure, d.failure) END,
               attempts = o.attempts, attempt_time = clock_timestamp() + o.retry_in_ms * interval '1 ms',
               is_leased = false, update_time = ${nowIn('$9')}
           FROM unnest($1::uuid[], $2::uuid[], $3::integer[], $4::text[], $5::text[], $6::text[], $7::smallint[],
               $8::float8[]) AS o (user_id, delivery_id, lease, state, skip_reason, failure, attempts, retry_in_ms)
           WHERE d.user_id = o.user_id AND d.delivery_id = o.delivery_id AND d.lease = o.lease AND d.state = 'pending'
           RETURNING d.delivery_id AS "deliveryId", d.update_time AS time`,
    values: [
      endings.map(({ delivery }) => delivery.userId),
      endings.map(({ delivery }) => delivery.deliveryId),
      endings.map(({ delivery }) => delivery.lease),
      outcomes.map(({ state }) => state),
      outcomes.map((outcome) => (outcome.state === 'skipped' ? outcome.skipReason : null)),
      outcomes.map((outcome) => ('failure' in outcome ? (outcome.failure?.slice(0, 200) ?? null) : null)),
      endings.map(({ attempts }) => attempts),
      outcomes.map((outcome) => (outcome.state === 'pending' ? outcome.retryInMs : 0)),
      nowParameter(now),
    ],
  });
  return new Map(rows.map(({ deliveryId, time }) => [deliveryId, time]));
}

/** Removes push subscriptions that will never work again. */
async function deleteGone(transaction: Queryable, endings: readonly Ending[]): Promise<void> {
  const gone = endings.filter(({ outcome }) => outcome.state === 'failed' && outcome.cause === 'gone');
  if (gone.length === 0) return;
  await transaction.query({
    name: 'delete-gone-subscriptions',
    text: `DELETE FROM reminders.push_subscriptions s USING reminders.deliveries d
           WHERE (d.user_id, d.delivery_id) IN (SELECT * FROM unnest($1::uuid[], $2::uuid[]))
             AND s.user_id = d.user_id AND s.subscription_id = d.subscription_id`,
    values: [gone.map(({ delivery }) => delivery.userId), gone.map(({ delivery }) => delivery.deliveryId)],
  });
}

/** A user's e-mail is switched off after this many mails in a row that the server refuses because of the recipient. */
const REFUSALS = 3;

const isSent = ({ outcome }: Ending) => outcome.state === 'sent';
const isRefused = ({ outcome }: Ending) => outcome.state === 'failed' && outcome.cause === 'refused';

/** Locks the rows of those users who have refusals or are about to have one. @returns their IDs. */
async function lockRefusals(transaction: Queryable, endings: readonly Ending[]): Promise<Set<string>> {
  const refused = endings.filter(isRefused).map(({ delivery }) => delivery.userId);
  const sent = endings.filter(isSent).map(({ delivery }) => delivery.userId);
  if (refused.length + sent.length === 0) return new Set();
  const rows = await transaction.query<{ userId: string }>({
    name: 'lock-refusals',
    text: `SELECT u.user_id AS "userId" FROM reminders.users u
           WHERE u.user_id = ANY($1::uuid[]) AND (u.email_refusals > 0 OR u.user_id = ANY($2::uuid[]))
           ORDER BY u.user_id FOR NO KEY UPDATE`,
    values: [[...sent, ...refused], refused],
  });
  return new Set(rows.map(({ userId }) => userId));
}

/** Counts refused mails in a row; an accepted mail resets the count. From the third on, switches the user's e-mail off. */
async function countRefusals(transaction: Queryable, endings: readonly Ending[], now: Now): Promise<void> {
  const isSwitched = `e.row >= ${REFUSALS} AND u.email_off_reason IS NULL`;
  await transaction.query({
    name: 'count-refusals',
    text: `UPDATE reminders.users u
           SET email_refusals = e.row,
               email_off_reason = CASE WHEN ${isSwitched} THEN 'refused' ELSE u.email_off_reason END,
               email_off_time = CASE WHEN ${isSwitched} THEN ${nowIn('$4')} ELSE u.email_off_time END
           FROM (SELECT known.user_id, CASE WHEN bool_or(sent) THEN 0 ELSE known.email_refusals END
                   + count(*) FILTER (WHERE refused) AS row
                 FROM unnest($1::uuid[], $2::boolean[], $3::boolean[]) AS ended (user_id, sent, refused)
                 JOIN reminders.users known USING (user_id)
                 GROUP BY known.user_id, known.email_refusals) AS e
           WHERE u.user_id = e.user_id`,
    values: [
      endings.map(({ delivery }) => delivery.userId),
      endings.map(isSent),
      endings.map(isRefused),
      nowParameter(now),
    ],
  });
}
