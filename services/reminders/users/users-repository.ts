// The SQL of what is held of a user beside reminders: the e-mail switch, the calendar's address, the tombstone.
import type { Queryable } from '../../platform/postgres/database.ts';

export type EmailOffReason = 'switched off' | 'unsubscribed' | 'refused';
export type UserRow = {
  userId: string;
  /** null: e-mail is on. */
  emailOffReason: EmailOffReason | null;
  emailOffTime: Date | null;
  feedCreateTime: Date | null;
  deleteTime: Date | null;
};

const USER_COLUMNS = `u.user_id AS "userId", u.email_off_reason AS "emailOffReason",
  u.email_off_time AS "emailOffTime", u.feed_create_time AS "feedCreateTime", u.delete_time AS "deleteTime"`;

/** Locks the user's row until the transaction ends; `unsubscribeToken`, 32 random bytes, is for a row that is new. */
export async function lockUser(
  transaction: Queryable,
  userId: string,
  unsubscribeToken: Buffer,
): Promise<UserRow> {
  const [user] = await transaction.query<UserRow>({
    name: 'lock-user',
    text: `INSERT INTO reminders.users AS u (user_id, unsubscribe_token) VALUES ($1, $2)
           ON CONFLICT (user_id) DO UPDATE SET user_id = excluded.user_id
           RETURNING ${USER_COLUMNS}`,
    values: [userId, unsubscribeToken],
  });
  if (user === undefined) throw new Error('the upsert of a user returned no row');
  return user;
}

export async function findUser(db: Queryable, userId: string): Promise<UserRow | undefined> {
  const [user] = await db.query<UserRow>({
    name: 'find-user',
    text: `SELECT ${USER_COLUMNS} FROM reminders.users u WHERE u.user_id = $1`,
    values: [userId],
  });
  return user;
}

/** Of users whose data were not deleted, those after the key `after`. */
export async function listUserIds(
  db: Queryable,
  { after, limit }: { after: string; limit: number },
): Promise<string[]> {
  const rows = await db.query<{ userId: string }>({
    name: 'list-user-ids',
    text: `SELECT u.user_id AS "userId" FROM reminders.users u
           WHERE u.user_id > $1 AND u.delete_time IS NULL ORDER BY u.user_id LIMIT $2`,
    values: [after, limit],
  });
  return rows.map(({ userId }) => userId);
}

const STAYS_OFF = `u.email_off_reason IS NOT NULL AND $2::text IS NOT NULL
  AND (u.email_off_reason = 'unsubscribed' OR $2 <> 'unsubscribed')`;

/**
 * Switches e-mail off for a reason, or on (null). What is off stays off for its first reason and time, unless the user
 * unsubscribes: whoever switches it on again is to know that this was their wish.
 */
export async function setEmailOff(
  db: Queryable,
  userId: string,
  off: { reason: EmailOffReason; time: Date } | null,
): Promise<UserRow | undefined> {
  const [user] = await db.query<UserRow>({
    name: 'set-email-off',
    text: `UPDATE reminders.users u
           SET email_off_time = CASE WHEN ${STAYS_OFF} THEN u.email_off_time ELSE $3::timestamptz END,
               email_off_reason = CASE WHEN ${STAYS_OFF} THEN u.email_off_reason ELSE $2 END,
               email_refusals = CASE WHEN $2::text IS NULL THEN 0 ELSE u.email_refusals END
           WHERE u.user_id = $1 AND u.delete_time IS NULL
           RETURNING ${USER_COLUMNS}`,
    values: [userId, off?.reason ?? null, off?.time ?? null],
  });
  return user;
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

/** The owner of the feed whose secret has this SHA-256. */
export async function findUserByFeed(db: Queryable, feedHash: Buffer): Promise<string | undefined> {
  const [user] = await db.query<{ userId: string }>({
    name: 'find-user-by-feed',
    text: 'SELECT u.user_id AS "userId" FROM reminders.users u WHERE u.feed_hash = $1',
    values: [feedHash],
  });
  return user?.userId;
}
