// Counts mails that the server refuses because of the recipient. Three in a row switch a user's e-mail off.
import type { Queryable } from '../../platform/postgres/database.ts';
import { type Now, nowIn, nowParameter } from '../../platform/postgres/now.ts';
import type { Ending } from './decide.ts';

/** From the third in a row on, a refusal switches e-mail off. */
const REFUSALS = 3;

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

/** A mail that was taken ends the row of refused ones; from the third in a row on, the user's e-mail is off. */
export async function countRefusals(
  transaction: Queryable,
  endings: readonly Ending[],
  now: Now,
): Promise<void> {
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
