// Finds what a reminder's stored times contradict: its settings, or what it has already sent.
import { nextTurn, type Reminder } from '../reminders/reminder.ts';

/**
 * `latestDate`: the latest local date, YYYY-MM-DD, of which a delivery is stored; null without one. `readTime`: when it was read, by
 * the database's clock.
 */
export type StoredReminder = Pick<
  Reminder,
  'userId' | 'reminderId' | 'minuteOfDay' | 'weekdays' | 'isEnabled' | 'timeZone' | 'lastDate' | 'next'
> & { latestDate: string | null; readTime: Date };

/** One text for each contradiction; empty for a sound reminder. */
export function findReminderDrift(stored: StoredReminder): string[] {
  const { next, lastDate, latestDate, readTime } = stored;
  const problems: string[] = [];
  if (latestDate !== null && (lastDate === null || latestDate > lastDate))
    problems.push(`${latestDate} has taken place, but the last date is ${lastDate ?? 'none'}`);
  // One that waits to be claimed must be an occurrence; one to come must be the first from now on.
  const from = next === null || next.time > readTime ? readTime : next.time;
  try {
    const expected = nextTurn(stored, from);
    if (expected?.date !== next?.date || expected?.time.getTime() !== next?.time.getTime())
      problems.push(`the next occurrence is ${show(next)}, not ${show(expected)}`);
  } catch {
    problems.push(`no occurrence follows in the time zone ${stored.timeZone}`);
  }
  return problems;
}

function show(occurrence: StoredReminder['next']): string {
  return occurrence === null ? 'none' : `${occurrence.date} at ${occurrence.time.toISOString()}`;
}
