// Follows changes of users' time zones: reads from accounts who has changed, and reschedules their reminders.
import type { Logger } from '../../platform/logging/logger.ts';
import { type Queryable, rowOf } from '../../platform/postgres/database.ts';
import { type Now, nowIn, nowParameter } from '../../platform/postgres/now.ts';
import { isSandboxUser, NIL_UUID } from '../../platform/uuid.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Account } from '../peers.ts';
import { LATE_AFTER_MS, nextTurn } from '../reminders/reminder.ts';
import { findUsersOfOtherZone, lockRemindersOfOtherZone, updateReminder } from '../reminders/sql.ts';

/** A change can become visible this much later than its time says: transactions end, and clocks differ. */
const OVERLAP_MS = 60_000;

type FollowDependencies = Pick<Dependencies, 'database' | 'peers' | 'now' | 'nowOf'> & { logger: Logger };

/** Reads all changes since any process last did. Repeating it, or running it in several processes at once, is harmless. */
export async function followTimeZones(dependencies: FollowDependencies): Promise<void> {
  const { database, peers, now } = dependencies;
  const { readUntilTime, start } = await findReadUntil(database, now);
  // A clock that was set back leaves a time in the future.
  const since = new Date(Math.min(readUntilTime.getTime(), start.getTime()) - OVERLAP_MS);
  for await (const accounts of peers.changedAccounts(since)) {
    const moved = new Set(await findUsersOfOtherZone(database, accounts));
    for (const account of accounts)
      if (moved.has(account.userId)) await moveIfPossible(dependencies, account);
  }
  await setReadUntil(database, start);
}

/** Only logs an error of this user, so that others are not held up: a zone that this Node does not know, or any error of a sandbox user. */
async function moveIfPossible(dependencies: FollowDependencies, account: Account): Promise<void> {
  const { userId, timeZone } = account;
  const isSandbox = isSandboxUser(userId);
  try {
    // Following a test clock also applies the time zone.
    if (isSandbox) await dependencies.nowOf(userId);
    else await moveReminders(dependencies, account);
  } catch (error) {
    if (!isSandbox && !(error instanceof RangeError)) throw error;
    dependencies.logger.error({ err: error, userId, timeZone }, 'reminders keep their previous time zone');
  }
}

/**
 * Reschedules the user's reminders that are in another zone. An occurrence that has come due in the new zone since the change still takes
 * place. So does an unclaimed one that had come due in the old zone before the change, if its date would otherwise be skipped.
 */
async function moveReminders(
  { database, now }: Pick<Dependencies, 'database' | 'now'>,
  { userId, timeZone, updateTime }: Account,
): Promise<void> {
  await database.transaction(async (transaction) => {
    for (const { now: time, ...reminder } of await lockRemindersOfOtherZone(
      transaction,
      { userId, timeZone },
      now,
    )) {
      const nowMs = time.getTime();
      // The clock of the database can have been set back since.
      const from = new Date(Math.min(nowMs, Math.max(updateTime.getTime(), nowMs - LATE_AFTER_MS)));
      const moved = { ...reminder, timeZone };
      const { next: before } = reminder;
      const after = nextTurn(moved, from);
      const hadCome = before !== null && before.time <= updateTime && before.time <= time;
      const isLeftOut = hadCome && after !== null && before.date < after.date;
      await updateReminder(transaction, { ...moved, next: isLeftOut ? before : after });
    }
  });
}

/** `readUntilTime`: up to when all changes have been read; `start` if none have. `start`: now. */
function findReadUntil(db: Queryable, now: Now): Promise<{ readUntilTime: Date; start: Date }> {
  return rowOf(db, {
    name: 'find-read-until',
    text: `SELECT coalesce(c.read_until_time, t.now) AS "readUntilTime", t.now AS start
           FROM (SELECT ${nowIn('$2')} AS now) AS t
           LEFT JOIN reminders.user_changes c ON c.user_id = $1`,
    values: [NIL_UUID, nowParameter(now)],
  });
}

async function setReadUntil(db: Queryable, time: Date): Promise<void> {
  await db.query({
    name: 'set-read-until',
    text: `INSERT INTO reminders.user_changes (user_id, read_until_time) VALUES ($1, $2)
           ON CONFLICT (user_id) DO UPDATE SET read_until_time = excluded.read_until_time`,
    values: [NIL_UUID, time],
  });
}
