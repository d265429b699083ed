// Counts mails that the server refuses because of the recipient. Three in a row switch a user's e-mail off, unless so many users'
// are refused within an hour that the mail server is at fault.
import { REFUSALS_LOCK } from '../../platform/postgres/connection.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { type Now, nowIn, nowParameter } from '../now.ts';
import type { Ending } from './decide.ts';

/** From the third in a row on, a refusal switches e-mail off. */
const REFUSALS = 3;
/** More than one recipient in 50 of an hour, 2 %, is the mail server's fault. */
const RECIPIENTS_PER_REFUSED = 50;
/** Fewer are not: with 40 recipients, one bad address would be more than 2 %. */
const MIN_REFUSED = 5;

const isSent = ({ outcome }: Ending) => outcome.state === 'sent';
const isRefused = ({ outcome }: Ending) => outcome.state === 'failed' && outcome.cause === 'refused';

/** @returns the users who have a refusal, or are about to, and whose row is locked. */
export async function lockRefusals(transaction: Queryable, endings: readonly Ending[]): Promise<Set<string>> {
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

/**
 * A mail that was taken ends the row of refused ones; the third in a row switches the user's e-mail off, unless the brake holds.
 * @returns of how many users it held: call keepEmailOn once the transaction has ended.
 */
export async function countRefusals(
  transaction: Queryable,
  endings: readonly Ending[],
  now: Now,
): Promise<number> {
  const rows = await transaction.query<{ userId: string; isLast: boolean }>({
    name: 'count-refusals',
    text: `UPDATE reminders.users u
           SET email_refusals = e.row, email_refused_time = CASE WHEN e.row >= ${REFUSALS} THEN ${nowIn('$4')} END
           FROM (SELECT known.user_id, CASE WHEN bool_or(sent) THEN 0 ELSE known.email_refusals END
                   + count(*) FILTER (WHERE refused) AS row
                 FROM unnest($1::uuid[], $2::boolean[], $3::boolean[]) AS ended (user_id, sent, refused)
                 JOIN reminders.users known USING (user_id)
                 GROUP BY known.user_id, known.email_refusals) AS e
           WHERE u.user_id = e.user_id
           RETURNING u.user_id AS "userId", e.row >= ${REFUSALS} AND u.email_off_reason IS NULL AS "isLast"`,
    values: [
      endings.map(({ delivery }) => delivery.userId),
      endings.map(isSent),
      endings.map(isRefused),
      nowParameter(now),
    ],
  });
  const userIds = rows.filter(({ isLast }) => isLast).map(({ userId }) => userId);
  if (userIds.length === 0) return 0;
  // Until both commit, two transactions at once would not count each other's.
  await transaction.query({ text: 'SELECT pg_advisory_xact_lock($1)', values: [REFUSALS_LOCK] });
  if (await isBraked(transaction, now)) return userIds.length;
  await transaction.query({
    name: 'switch-refused-off',
    text: `UPDATE reminders.users u SET email_off_reason = 'refused', email_off_time = ${nowIn('$2')}
           WHERE u.user_id = ANY($1::uuid[])`,
    values: [userIds, nowParameter(now)],
  });
  return 0;
}

/** Whether too many users would be switched off within an hour, of all who got or are to get a mail in it. */
async function isBraked(transaction: Queryable, now: Now): Promise<boolean> {
  const [refused] = await transaction.query<{ count: number }>({
    name: 'count-refused',
    text: `SELECT count(*)::integer AS count FROM reminders.users u
           WHERE u.email_refused_time > ${nowIn('$1')} - interval '1 hour'
             AND (u.email_off_reason IS NULL OR u.email_off_reason = 'refused')`,
    values: [nowParameter(now)],
  });
  const count = refused?.count ?? 0;
  if (count < MIN_REFUSED) return false;
  // As many as allow so many refused; no more need be counted.
  const enough = count * RECIPIENTS_PER_REFUSED;
  const [recipients] = await transaction.query<{ count: number }>({
    name: 'count-recipients',
    text: `SELECT count(*)::integer AS count FROM (
             SELECT DISTINCT d.user_id FROM reminders.deliveries d
             WHERE d.create_time > ${nowIn('$1')} - interval '1 hour' AND d.channel = 'email' AND d.state <> 'skipped'
             LIMIT $2) AS recipients`,
    values: [nowParameter(now), enough],
  });
  return (recipients?.count ?? 0) < enough;
}

/** Switches e-mail on again for those whom refusals of the last hour switched off before the brake held. */
export async function keepEmailOn(db: Queryable, now: Now): Promise<void> {
  await db.query({
    name: 'keep-email-on',
    text: `UPDATE reminders.users u SET email_off_reason = NULL, email_off_time = NULL
           FROM (SELECT o.user_id FROM reminders.users o
                 WHERE o.email_refused_time > ${nowIn('$1')} - interval '1 hour' AND o.email_off_reason = 'refused'
                 ORDER BY o.user_id FOR NO KEY UPDATE) AS refused
           WHERE u.user_id = refused.user_id`,
    values: [nowParameter(now)],
  });
}
