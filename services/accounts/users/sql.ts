// The SQL of users.
import type { TimePage } from '../../platform/page-token.ts';
import { type Queryable, rowOf } from '../../platform/postgres/database.ts';
import { type Now, nowIn, nowParameter } from '../../platform/postgres/now.ts';

export type Plan = 'free' | 'premium';
export type User = {
  userId: string;
  email: string;
  firstName: string | null;
  lastName: string | null;
  plan: Plan;
  timeZone: string;
  createTime: Date;
  updateTime: Date;
};

type Profile = Omit<User, 'createTime' | 'updateTime'>;

/** Columns aliased to the fields of User. */
export const USER_COLUMNS = `u.user_id AS "userId", u.email, u.first_name AS "firstName", u.last_name AS "lastName",
  u.plan, u.time_zone AS "timeZone", u.create_time AS "createTime", u.update_time AS "updateTime"`;

/** The first parameters of a write, $1 to $6. */
function profileValues({ userId, email, firstName, lastName, plan, timeZone }: Profile): readonly unknown[] {
  return [userId, email, firstName, lastName, plan, timeZone];
}

/** @throws pg's unique violation if the e-mail is in use. */
export async function insertUser(db: Queryable, user: User): Promise<void> {
  await db.query({
    name: 'insert-user',
    text: `INSERT INTO accounts.users
             (user_id, email, folded_email, first_name, last_name, plan, time_zone, create_time, update_time)
           VALUES ($1, $2, lower($2), $3, $4, $5, $6, $7, $8)`,
    values: [...profileValues(user), user.createTime, user.updateTime],
  });
}

export async function findUser(db: Queryable, userId: string): Promise<User | undefined> {
  return (await findUsers(db, [userId]))[0];
}

/** Locks the user against changes and key creation until the transaction ends. */
export async function lockUser(transaction: Queryable, userId: string): Promise<User | undefined> {
  const [user] = await transaction.query<User>({
    name: 'lock-user',
    text: `SELECT ${USER_COLUMNS} FROM accounts.users u WHERE u.user_id = $1 FOR UPDATE`,
    values: [userId],
  });
  return user;
}

export async function findUsers(db: Queryable, userIds: readonly string[]): Promise<User[]> {
  return db.query<User>({
    name: 'find-users',
    text: `SELECT ${USER_COLUMNS} FROM accounts.users u WHERE u.user_id = ANY($1::uuid[])`,
    values: [userIds],
  });
}

/** Users by the requested address; unknown addresses are omitted. */
export async function findUsersByEmails(
  db: Queryable,
  emails: readonly string[],
): Promise<Map<string, User>> {
  const rows = await db.query<User & { asked: string }>({
    name: 'find-users-by-emails',
    text: `SELECT asked.email AS asked, ${USER_COLUMNS}
           FROM unnest($1::text[]) AS asked (email) JOIN accounts.users u ON u.folded_email = lower(asked.email)`,
    values: [emails],
  });
  return new Map(rows.map(({ asked, ...user }) => [asked, user]));
}

/** SQL: `column` begins with the ASCII text `prefix`. A range, since LIKE with a parameter uses no index. */
export const beginsWith = (column: string, prefix: string) =>
  `${column} COLLATE "C" >= ${prefix} AND ${column} COLLATE "C" < ${prefix} || chr(127)`;

const SEARCH_TEXT = 'accounts.search_text(u.email, u.first_name, u.last_name)';
/** As SEARCH_TEXT has it. */
const SOUGHT = 'lower(normalize($1::text, NFC))';

/** SQL: whether a name of one or two characters is the sought text. */
const HAS_SHORT_NAME = `length(${SOUGHT}) < 3
  AND (lower(normalize(u.first_name, NFC)) = ${SOUGHT} OR lower(normalize(u.last_name, NFC)) = ${SOUGHT})`;

/**
 * At most `limit` users: those whose address begins with `text` in any case, by address; then, in no order, those whose
 * address or names contain it, if it has three characters or more, or who have it as a first or last name.
 */
export function searchUsers(db: Queryable, text: string, limit: number): Promise<User[]> {
  const begins = beginsWith('u.folded_email', 'lower($1::text)');
  // PostgreSQL skips a part of the union once the limit is full. Sorting all matches of a frequent text would be slow.
  return db.query<User>({
    name: 'search-users',
    text: `(SELECT ${USER_COLUMNS} FROM accounts.users u WHERE ${begins}
            ORDER BY u.folded_email COLLATE "C" LIMIT $2)
           UNION ALL
           (SELECT ${USER_COLUMNS} FROM accounts.users u
            WHERE length(${SOUGHT}) >= 3 AND accounts.trigrams(${SEARCH_TEXT}) @> accounts.trigrams(${SOUGHT})
              AND position(${SOUGHT} IN ${SEARCH_TEXT}) > 0 AND NOT (${begins})
            LIMIT $2)
           UNION ALL
           (SELECT ${USER_COLUMNS} FROM accounts.users u WHERE ${HAS_SHORT_NAME} AND NOT (${begins}) LIMIT $2)
           LIMIT $2`,
    values: [text, limit],
  });
}

/** Users whose ID ends with these 8 characters. */
export function findUsersByIdEnding(db: Queryable, ending: string, limit: number): Promise<User[]> {
  return db.query<User>({
    name: 'find-users-by-id-ending',
    text: `SELECT ${USER_COLUMNS} FROM accounts.users u
           WHERE right(u.user_id::text, 8) = $1 ORDER BY u.user_id LIMIT $2`,
    values: [ending, limit],
  });
}

/** @returns its update_time. @throws pg's unique violation if the e-mail is in use. */
export async function updateUser(transaction: Queryable, user: Profile, now: Now): Promise<Date> {
  const { updateTime } = await rowOf<{ updateTime: Date }>(transaction, {
    name: 'update-user',
    text: `UPDATE accounts.users
           SET email = $2, folded_email = lower($2), first_name = $3, last_name = $4, plan = $5, time_zone = $6,
               update_time = ${nowIn('$7')}
           WHERE user_id = $1
           RETURNING update_time AS "updateTime"`,
    values: [...profileValues(user), nowParameter(now)],
  });
  return updateTime;
}

/** Newest first, so that new users never shift later pages. */
export function listUsers(db: Queryable, { limit, after }: TimePage): Promise<User[]> {
  return db.query<User>({
    name: 'list-users',
    text: `SELECT ${USER_COLUMNS} FROM accounts.users u
           WHERE $2::timestamptz IS NULL OR (u.create_time, u.user_id) < ($2, $3)
           ORDER BY u.create_time DESC, u.user_id DESC
           LIMIT $1`,
    values: [limit, after?.time ?? null, after?.id ?? null],
  });
}

/** Users changed at `since` or later, oldest change first. */
export function listChangedUsers(
  db: Queryable,
  { since, limit, after }: TimePage & { since: Date },
): Promise<User[]> {
  return db.query<User>({
    name: 'list-changed-users',
    text: `SELECT ${USER_COLUMNS} FROM accounts.users u
           WHERE u.update_time >= $1 AND ($3::timestamptz IS NULL OR (u.update_time, u.user_id) > ($3, $4))
           ORDER BY u.update_time, u.user_id
           LIMIT $2`,
    values: [since, limit, after?.time ?? null, after?.id ?? null],
  });
}

/** Deletes the user, all keys and what is kept of their requests. @returns whether the user existed. */
export async function deleteUser(transaction: Queryable, userId: string): Promise<boolean> {
  for (const requests of ['refused_requests', 'key_requests'])
    await transaction.query({
      name: `delete-${requests}`,
      text: `DELETE FROM accounts.${requests} r USING accounts.api_keys k
             WHERE k.user_id = $1 AND r.api_key_id = k.api_key_id`,
      values: [userId],
    });
  const rows = await transaction.query({
    name: 'delete-user',
    text: 'DELETE FROM accounts.users WHERE user_id = $1 RETURNING user_id',
    values: [userId],
  });
  return rows.length > 0;
}
