// The SQL of users whose e-mail was switched off lately.
import type { TimePage } from '../../platform/page-token.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { EmailOffReason } from './users-repository.ts';

type EmailOff = { userId: string; emailOffReason: EmailOffReason; emailOffTime: Date };

/** After `since`, latest first. */
export function listEmailOff(db: Queryable, since: Date, { limit, after }: TimePage): Promise<EmailOff[]> {
  return db.query<EmailOff>({
    name: 'list-email-off',
    text: `SELECT u.user_id AS "userId", u.email_off_reason AS "emailOffReason", u.email_off_time AS "emailOffTime"
           FROM reminders.users u
           WHERE u.email_off_time > $1 AND ($3::timestamptz IS NULL OR (u.email_off_time, u.user_id) < ($3, $4))
           ORDER BY u.email_off_time DESC, u.user_id DESC
           LIMIT $2`,
    values: [since, limit, after?.time ?? null, after?.id ?? null],
  });
}

export async function countEmailOff(db: Queryable, since: Date): Promise<number> {
  const [row] = await db.query<{ count: number }>({
    name: 'count-email-off',
    text: 'SELECT count(*)::integer AS count FROM reminders.users u WHERE u.email_off_time > $1',
    values: [since],
  });
  return row?.count ?? 0;
}
