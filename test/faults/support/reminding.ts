// The reminders service as processes, with accounts and scheduling, over a database of users who have a reminder.
import { createECDH, randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { type ServiceProcess, startService } from '../../support/services.ts';

export type Reminding = Awaited<ReturnType<typeof startReminding>>;

/** Starts accounts, scheduling and so many replicas of reminders, whose environment is `environment` too. */
export async function startReminding(options: {
  databaseUrl: string;
  replicas: number;
  environment: Record<string, string>;
}) {
  const { databaseUrl, replicas: count, environment } = options;
  const common = { DATABASE_URL: databaseUrl };
  const [accounts, scheduling] = await Promise.all([
    startService('accounts', { ...common, KEY_PEPPER: `1:${'o'.repeat(32)}` }),
    startService('scheduling', common),
  ]);
  const replicas: ServiceProcess[] = [];
  for (let started = 0; started < count; started += 1)
    replicas.push(
      await startService('reminders', {
        ...common,
        REMINDERS_HTTP_PORT: '0',
        PUBLIC_URL: 'https://remind.example.com',
        MAIL_FROM: 'reminders@example.com',
        SCHEDULING_URL: scheduling.target,
        ACCOUNTS_URL: accounts.target,
        ...environment,
      }),
    );
  const query = async <R extends object>(text: string, values: unknown[] = []): Promise<R[]> => {
    const sql = new Client({ connectionString: databaseUrl });
    await sql.connect();
    return sql
      .query<R>(text, values)
      .then(({ rows }) => rows)
      .finally(() => sql.end());
  };
  return {
    accounts,
    scheduling,
    replicas,
    query,
    /** "state reason" and how many deliveries have it, of all users. */
    async states(): Promise<Record<string, number>> {
      const rows = await query<{ state: string; count: number }>(
        `SELECT concat_ws(' ', state, skip_reason) AS state, count(*)::int AS count FROM reminders.deliveries GROUP BY 1`,
      );
      return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
    },
    async stop() {
      await Promise.all([...replicas, scheduling, accounts].map((service) => service.kill()));
    },
  };
}

/**
 * Users with one due material each, whose reminders come at `dueTime`, a whole minute, and their spread: by e-mail, or by push
 * to an address below `endpoint`.
 * @returns their IDs.
 */
export async function storeUsers(
  { query }: Pick<Reminding, 'query'>,
  {
    users,
    dueTime,
    endpoint,
    mailDomain = 'example.com',
  }: { users: number; dueTime: Date; endpoint?: string; mailDomain?: string },
): Promise<string[]> {
  const added = await query<{ id: string }>(
    `INSERT INTO accounts.users (user_id, email, folded_email, plan, time_zone, create_time, update_time)
     SELECT id, id || '@' || $2, id || '@' || $2, 'free', 'UTC', '2026-01-01', '2026-01-01'
     FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, $1::int)) AS ids
     RETURNING user_id AS id`,
    [users, mailDomain],
  );
  const ids = added.map(({ id }) => id);
  await query(
    `INSERT INTO scheduling.materials (user_id, material_id, title, type, ease_factor_hundredths, interval_days,
       repetitions, next_review_time, create_time, update_time)
     SELECT user_id, gen_random_uuid(), 'A title', 'simple', 250, 0, 0, '2026-01-01', '2026-01-01', '2026-01-01'
     FROM unnest($1::uuid[]) AS user_id`,
    [ids],
  );
  await query(
    `INSERT INTO reminders.users (user_id, unsubscribe_token)
     SELECT user_id, sha256(user_id::text::bytea) FROM unnest($1::uuid[]) AS user_id`,
    [ids],
  );
  if (endpoint !== undefined) await subscribe(query, ids, endpoint);
  await query(
    `INSERT INTO reminders.reminders (user_id, reminder_id, minute_of_day, weekdays, channels, min_due,
       only_if_not_reviewed_today, enabled, time_zone, next_date, next_time, create_time, update_time)
     SELECT user_id, gen_random_uuid(), $1, '{1,2,3,4,5,6,7}', CASE WHEN $4 THEN '{email}'::text[] ELSE '{push}' END, 1, false, true, 'UTC', $2::timestamptz::date,
       $2::timestamptz + (('x' || right(user_id::text, 8))::bit(32)::bigint % 60) * interval '1 s',
       '2026-01-01', '2026-01-01'
     FROM unnest($3::uuid[]) AS user_id`,
    [
      dueTime.getUTCHours() * 60 + dueTime.getUTCMinutes(),
      dueTime.toISOString(),
      ids,
      endpoint === undefined,
    ],
  );
  await query('ANALYZE');
  return ids;
}

/** One subscription for each user, of a browser that exists only as keys. */
async function subscribe(query: Reminding['query'], userIds: readonly string[], endpoint: string) {
  const browser = createECDH('prime256v1');
  const keys = [browser.generateKeys('base64url'), randomBytes(16).toString('base64url')];
  await query(
    `INSERT INTO reminders.push_subscriptions (user_id, subscription_id, endpoint, p256dh, auth, create_time)
     SELECT user_id, gen_random_uuid(), $2 || user_id, $3, $4, '2026-01-01' FROM unnest($1::uuid[]) AS user_id`,
    [userIds, endpoint, ...keys],
  );
}

/** The first whole minute that begins at least `minutes` from now; negative: ago. */
export function minuteFrom(minutes: number): Date {
  return new Date(Math.ceil(Date.now() / 60_000 + minutes) * 60_000);
}
