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

/** Reads all changes since the last time, by whatever process. Doing it again, or at once in several processes, is harmless. */
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

/** Nobody holds up the others: neither who has a zone that this Node does not know, nor a sandbox user, whose clock is followed again. */
async function moveIfPossible(dependencies: FollowDependencies, account: Account): Promise<void> {
  const { userId, timeZone } = account;
  const isSandbox = isSandboxUser(userId);
  try {
    // Whoever follows a test clock follows the time zone as well.
    if (isSandbox) await dependencies.nowOf(userId);
    else await moveReminders(dependencies, account);
  } catch (error) {
    if (!isSandbox && !(error instanceof RangeError)) throw error;
    dependencies.logger.error({ err: error, userId, timeZone }, 'reminders keep the time zone before');
  }
}

/**
 * Reschedules the user's reminders that follow another zone. What has come due in the new one since the change still takes place, and
 * so does what had come due in the old one before and waits to be claimed, if its date would else be left out.
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

/** Up to when all changes have been read, the first time now; and now. */
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
