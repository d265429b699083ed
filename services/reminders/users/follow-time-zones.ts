// Follows changes of users' time zones: reads from accounts who has changed, and reschedules their reminders.
import type { Logger } from '../../platform/logging/logger.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Account } from '../peers.ts';
import { LATE_AFTER_MS, nextTurn } from '../reminders/reminder.ts';
import {
  findUsersElsewhere,
  lockRemindersElsewhere,
  updateReminder,
} from '../reminders/reminders-repository.ts';
import { findReadUntil, setReadUntil } from './user-changes-repository.ts';

/** A change can become visible this much later than its time says: transactions end, and clocks differ. */
const OVERLAP_MS = 60_000;

type FollowDependencies = Pick<Dependencies, 'database' | 'peers' | 'now'>;

/** Reads all changes since the last time, by whatever process. Doing it again, or at once in several processes, is harmless. */
export async function followTimeZones(dependencies: FollowDependencies & { logger: Logger }): Promise<void> {
  const { database, peers, now } = dependencies;
  const start = now();
  const readUntil = (await findReadUntil(database)) ?? start;
  // A clock that was set back leaves a time in the future.
  const since = new Date(Math.min(readUntil.getTime(), start.getTime()) - OVERLAP_MS);
  for await (const accounts of peers.changedAccounts(since)) {
    const elsewhere = new Set(await findUsersElsewhere(database, accounts));
    for (const account of accounts)
      if (elsewhere.has(account.userId)) await moveIfZoneIsKnown(dependencies, account);
  }
  await setReadUntil(database, start);
}

/** One zone that this Node does not know must not hold up the others. */
async function moveIfZoneIsKnown(
  dependencies: FollowDependencies & { logger: Logger },
  account: Account,
): Promise<void> {
  try {
    await moveReminders(dependencies, account);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const { userId, timeZone } = account;
    dependencies.logger.error(
      { err: error, userId, timeZone },
      'reminders keep the time zone before: the new one is unknown here',
    );
  }
}

/** Reschedules the user's reminders that follow another zone. What has come due in the new one since the change still takes place. */
export async function moveReminders(
  { database, now }: Pick<Dependencies, 'database' | 'now'>,
  { userId, timeZone, updateTime }: Account,
): Promise<void> {
  const nowMs = now().getTime();
  // Accounts stamps by its machine's clock, which can be ahead.
  const from = new Date(Math.min(nowMs, Math.max(updateTime.getTime(), nowMs - LATE_AFTER_MS)));
  await database.transaction(async (transaction) => {
    for (const reminder of await lockRemindersElsewhere(transaction, userId, timeZone)) {
      const moved = { ...reminder, timeZone };
      await updateReminder(transaction, { ...moved, next: nextTurn(moved, from) });
    }
  });
}
