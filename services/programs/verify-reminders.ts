// The part of npm run verify about reminders: the next occurrence of each, and that none took place twice.
import type { Database } from '../platform/postgres/database.ts';
import { counted } from '../platform/process/command.ts';
import { NIL_UUID } from '../platform/uuid.ts';
import {
  findReminderDrift,
  hasReminders,
  readStoredOccurrences,
  readStoredReminders,
} from '../reminders/users/drift.ts';

const AT_A_TIME = 1000;

/** Prints each fault and the counts. `userId` undefined: all users. @returns how many faults; 0 without the tables. */
export async function verifyReminders(database: Database, userId: string | undefined): Promise<number> {
  if (!(await hasReminders(database))) return 0;
  const counts = { reminders: 0, drifted: 0, occurrences: 0, twice: 0 };
  const pages = { userId: NIL_UUID, reminderId: NIL_UUID, date: '-infinity' };
  for (let after = pages; ; ) {
    const reminders = await readStoredReminders(database, userId, { limit: AT_A_TIME, after });
    for (const reminder of reminders) {
      const drift = findReminderDrift(reminder);
      if (drift.length > 0) counts.drifted += 1;
      for (const problem of drift) print(reminder, problem);
    }
    counts.reminders += reminders.length;
    const last = reminders.at(-1);
    if (last === undefined || reminders.length < AT_A_TIME) break;
    after = { ...pages, ...last };
  }
  for (let after = pages; ; ) {
    const occurrences = await readStoredOccurrences(database, userId, { limit: AT_A_TIME, after });
    for (const { times, isRepeated, ...occurrence } of occurrences) {
      if (times.length === 1 && !isRepeated) continue;
      counts.twice += 1;
      const shown = times.map((time) => time.toISOString()).join(' and ');
      print(occurrence, `${occurrence.date} took place twice, at ${shown}`);
    }
    counts.occurrences += occurrences.length;
    const last = occurrences.at(-1);
    if (last === undefined || occurrences.length < AT_A_TIME) break;
    after = last;
  }
  process.stdout.write(
    `${counted(counts.reminders, 'reminder')}: ${counts.drifted.toLocaleString('en')} drifted; ` +
      `${counted(counts.occurrences, 'occurrence')}: ${counts.twice.toLocaleString('en')} twice\n`,
  );
  return counts.drifted + counts.twice;
}

function print({ userId, reminderId }: { userId: string; reminderId: string }, problem: string): void {
  process.stdout.write(`user ${userId} reminder ${reminderId}: ${problem}\n`);
}
