// The SQL of where a user's reminders go: the e-mail switch, push subscriptions, the calendar's address.
import type { TimePage } from '../../platform/page-token.ts';
import { type Queryable, rowOf } from '../../platform/postgres/database.ts';
import { type Now, nowIn, nowParameter } from '../../platform/postgres/now.ts';
import type { PushAddress } from './channel.ts';
import type { UserAddresses } from './registry.ts';

export type EmailOffReason = 'switched off' | 'unsubscribed' | 'refused';
export type UserRow = {
  userId: string;
  /** null: e-mail is on. */
  emailOffReason: EmailOffReason | null;
  /** For which other reason it is off, if the user unsubscribed; otherwise null. */
  emailOffBefore: EmailOffReason | null;
  emailOffTime: Date | null;
  feedCreateTime: Date | null;
  deleteTime: Date | null;
};

export const USER_COLUMNS = `u.user_id AS "userId", u.email_off_reason AS "emailOffReason",
  u.email_off_before AS "emailOffBefore", u.email_off_time AS "emailOffTime", u.feed_create_time AS "feedCreateTime",
  u.delete_time AS "deleteTime"`;

export async function findUser(db: Queryable, userId: string): Promise<UserRow | undefined> {
  const [user] = await db.query<UserRow>({
    name: 'find-user',
    text: `SELECT ${USER_COLUMNS} FROM reminders.users u WHERE u.user_id = $1`,
    values: [userId],
  });
  return user;
}

const STAYS_OFF = `u.email_off_reason IS NOT NULL AND $2::text IS NOT NULL
  AND (u.email_off_reason = 'unsubscribed' OR $2 <> 'unsubscribed')`;

/**
 * Switches e-mail off for a reason, or on (null). If it is already off, the first reason and time stay, unless the user unsubscribes:
 * support must see that this was the user's wish. The other reason, earlier or later, is stored for the undo.
 */
export async function setEmailOff(
  db: Queryable,
  userId: string,
  reason: EmailOffReason | null,
  now: Now,
): Promise<UserRow | undefined> {
  const [user] = await db.query<UserRow>({
    name: 'set-email-off',
    text: `UPDATE reminders.users u
           SET email_off_time = CASE WHEN ${STAYS_OFF} THEN u.email_off_time WHEN $2::text IS NULL THEN NULL ELSE ${nowIn('$3')} END,
               email_off_reason = CASE WHEN ${STAYS_OFF} THEN u.email_off_reason ELSE $2 END,
               email_off_before = CASE WHEN $2::text IS NULL THEN NULL
                                       WHEN u.email_off_reason = 'unsubscribed'
                                         THEN coalesce(u.email_off_before, nullif($2, 'unsubscribed'))
                                       WHEN $2 = 'unsubscribed' THEN u.email_off_reason END,
               email_refusals = CASE WHEN $2::text IS NULL THEN 0 ELSE u.email_refusals END
           WHERE u.user_id = $1 AND u.delete_time IS NULL
           RETURNING ${USER_COLUMNS}`,
    values: [userId, reason, nowParameter(now)],
  });
  return user;
}

/** Switches e-mail on again for up to `limit` users for whom refusals switched it off at or after `offSince`. @returns their IDs. */
export async function switchRefusedOn(db: Queryable, offSince: Date, limit: number): Promise<string[]> {
  const users = await db.query<{ userId: string }>({
    name: 'switch-refused-on',
    text: `UPDATE reminders.users u SET email_off_time = NULL, email_off_reason = NULL, email_refusals = 0
           FROM (SELECT o.user_id FROM reminders.users o
                 WHERE o.email_off_time >= $1 AND o.email_off_reason = 'refused'
                 ORDER BY o.user_id LIMIT $2 FOR NO KEY UPDATE) AS refused
           WHERE u.user_id = refused.user_id
           RETURNING u.user_id AS "userId"`,
    values: [offSince, limit],
  });
  return users.map(({ userId }) => userId);
}

/** Undoes an unsubscription. E-mail that is off for another reason, too, stays off. @returns the user after that. */
export async function endUnsubscription(db: Queryable, userId: string): Promise<UserRow | undefined> {
  await db.query({
    name: 'end-unsubscription',
    text: `UPDATE reminders.users u
           SET email_off_reason = u.email_off_before, email_off_before = NULL,
               email_off_time = CASE WHEN u.email_off_before IS NOT NULL THEN u.email_off_time END,
               email_refusals = CASE WHEN u.email_off_before IS NOT NULL THEN u.email_refusals ELSE 0 END
           WHERE u.user_id = $1 AND u.email_off_reason = 'unsubscribed'`,
    values: [userId],
  });
  return findUser(db, userId);
}

/** The user whose mails hold this unsubscribe token, given as its SHA-256. */
export async function findUserByUnsubscribeToken(
  db: Queryable,
  tokenHash: Buffer,
): Promise<string | undefined> {
  const [user] = await db.query<{ userId: string }>({
    name: 'find-user-by-unsubscribe-token',
    text: `SELECT u.user_id AS "userId" FROM reminders.users u
           WHERE sha256(u.unsubscribe_token) = $1 AND u.delete_time IS NULL`,
    values: [tokenHash],
  });
  return user?.userId;
}

/** Stores the SHA-256 of the feed's secret in place of an earlier one. */
export async function setFeed(
  transaction: Queryable,
  userId: string,
  { feedHash, createTime }: { feedHash: Buffer; createTime: Date },
): Promise<void> {
  await transaction.query({
    name: 'set-feed',
    text: 'UPDATE reminders.users SET feed_hash = $2, feed_create_time = $3 WHERE user_id = $1',
    values: [userId, feedHash, createTime],
  });
}

/** @returns whether there was a feed. */
export async function deleteFeed(db: Queryable, userId: string): Promise<boolean> {
  const rows = await db.query({
    name: 'delete-feed',
    text: `UPDATE reminders.users SET feed_hash = NULL, feed_create_time = NULL
           WHERE user_id = $1 AND feed_hash IS NOT NULL RETURNING user_id`,
    values: [userId],
  });
  return rows.length > 0;
}

type FeedOwner = {
  userId: string;
  /** Time of day of the earliest reminder that is on, 0 to 1,439; null without one. */
  earliestMinuteOfDay: number | null;
  now: Date;
};

/** The owner of the feed whose secret has this SHA-256. */
export async function findFeedOwner(
  db: Queryable,
  feedHash: Buffer,
  now: Now,
): Promise<FeedOwner | undefined> {
  const [owner] = await db.query<FeedOwner>({
    name: 'find-feed-owner',
    text: `SELECT u.user_id AS "userId", ${nowIn('$2')} AS now,
             (SELECT min(r.minute_of_day) FROM reminders.reminders r WHERE r.user_id = u.user_id AND r.enabled)
               AS "earliestMinuteOfDay"
           FROM reminders.users u WHERE u.feed_hash = $1`,
    values: [feedHash, nowParameter(now)],
  });
  return owner;
}

const LISTED = "interval '7 days'";
type EmailOff = { userId: string; emailOffReason: EmailOffReason; emailOffTime: Date };

/** Whose e-mail was switched off in the last 7 days, the latest first. */
export function listEmailOff(db: Queryable, { limit, after }: TimePage, now: Now): Promise<EmailOff[]> {
  return db.query<EmailOff>({
    name: 'list-email-off',
    text: `SELECT u.user_id AS "userId", u.email_off_reason AS "emailOffReason", u.email_off_time AS "emailOffTime"
           FROM reminders.users u
           WHERE u.email_off_time > ${nowIn('$1')} - ${LISTED}
             AND ($3::timestamptz IS NULL OR (u.email_off_time, u.user_id) < ($3, $4))
           ORDER BY u.email_off_time DESC, u.user_id DESC
           LIMIT $2`,
    values: [nowParameter(now), limit, after?.time ?? null, after?.id ?? null],
  });
}

export async function countEmailOff(db: Queryable, now: Now): Promise<number> {
  const [row] = await db.query<{ count: number }>({
    name: 'count-email-off',
    text: `SELECT count(*)::integer AS count FROM reminders.users u
           WHERE u.email_off_time > ${nowIn('$1')} - ${LISTED}`,
    values: [nowParameter(now)],
  });
  return row?.count ?? 0;
}

/** Where messages of these users may go, by user ID. */
export async function findAddresses(
  transaction: Queryable,
  userIds: readonly string[],
): Promise<Map<string, UserAddresses>> {
  const rows = await transaction.query<UserAddresses & { userId: string }>({
    name: 'find-addresses',
    text: `SELECT u.user_id AS "userId", u.email_off_reason IS NULL AS "emailIsOn",
             ARRAY(SELECT s.subscription_id FROM reminders.push_subscriptions s
                   WHERE s.user_id = u.user_id ORDER BY s.subscription_id) AS "subscriptionIds"
           FROM reminders.users u WHERE u.user_id = ANY($1::uuid[])`,
    values: [userIds],
  });
  return new Map(rows.map((row) => [row.userId, row]));
}

export type Subscription = PushAddress & { userId: string; subscriptionId: string; createTime: Date };

const COLUMNS = `s.user_id AS "userId", s.subscription_id AS "subscriptionId", s.endpoint, s.p256dh, s.auth,
  s.vapid_key AS "vapidKey", s.create_time AS "createTime"`;

/** In the order in which they were registered. */
export function listSubscriptions(db: Queryable, userId: string): Promise<Subscription[]> {
  return db.query<Subscription>({
    name: 'list-subscriptions',
    text: `SELECT ${COLUMNS} FROM reminders.push_subscriptions s WHERE s.user_id = $1
           ORDER BY s.create_time, s.subscription_id`,
    values: [userId],
  });
}

/**
 * Stores the subscription; one with the same endpoint keeps its ID and our key, which an endpoint is bound to, and gets the
 * browser's new keys. @returns what is stored.
 */
export function saveSubscription(
  transaction: Queryable,
  { userId, subscriptionId, endpoint, p256dh, auth, vapidKey, createTime }: Subscription,
): Promise<Subscription> {
  return rowOf(transaction, {
    name: 'save-subscription',
    text: `INSERT INTO reminders.push_subscriptions AS s
             (user_id, subscription_id, endpoint, p256dh, auth, vapid_key, create_time)
           VALUES ($1, $2, $3, $4, $5, $6, $7)
           ON CONFLICT (user_id, endpoint) DO UPDATE
           SET p256dh = excluded.p256dh, auth = excluded.auth, vapid_key = coalesce(s.vapid_key, excluded.vapid_key)
           RETURNING ${COLUMNS}`,
    values: [userId, subscriptionId, endpoint, p256dh, auth, vapidKey, createTime],
  });
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
