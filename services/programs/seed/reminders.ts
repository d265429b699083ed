// Gives some learners reminders, as people choose them.
import { nextTurn, type Reminder, type ReminderSettings } from '../../reminders/reminders/reminder.ts';

const DAY_MS = 86_400_000;
const EVERY_DAY = [1, 2, 3, 4, 5, 6, 7];
const WORKDAYS = [1, 2, 3, 4, 5];
const WEEKEND = [6, 7];
/** Shares of learners, and of reminders. */
const WITH_REMINDERS = 0.5;
const WITH_A_SECOND = 0.2;
const OFF = 0.1;
const PAUSED = 0.05;
const ALSO_BY_PUSH = 0.15;

/** None for about half of the learners, else one or two. @throws RangeError for an unknown time zone. */
export function makeReminders(
  { userId, timeZone }: { userId: string; timeZone: string },
  { now, newId }: { now: Date; newId: (time: Date) => string },
): Reminder[] {
  if (Math.random() >= WITH_REMINDERS) return [];
  const all =
    Math.random() < WITH_A_SECOND
      ? [drawSettings(WORKDAYS), drawSettings(WEEKEND)]
      : [drawSettings(Math.random() < 0.3 ? WORKDAYS : EVERY_DAY)];
  return all.map((settings) => {
    const isPaused = Math.random() < PAUSED;
    const owned = { ...settings, userId, timeZone, lastDate: null };
    return {
      ...owned,
      reminderId: newId(now),
      pausedUntilTime: isPaused ? new Date(now.getTime() + Math.ceil(14 * Math.random()) * DAY_MS) : null,
      next: nextTurn(owned, now),
      createTime: now,
      updateTime: now,
    };
  });
}

/** In the morning or in the evening, mostly at the full or half hour. */
function drawSettings(weekdays: number[]): ReminderSettings {
  const pick = <T>(values: readonly [T, ...T[]]): T =>
    values[Math.floor(Math.random() * values.length)] ?? values[0];
  const hour = pick([6, 7, 7, 8, 8, 9, 12, 17, 18, 19, 19, 20, 21]);
  return {
    minuteOfDay: hour * 60 + pick([0, 0, 0, 0, 15, 30, 30, 45]),
    weekdays,
    channels: Math.random() < ALSO_BY_PUSH ? ['email', 'push'] : ['email'],
    minDue: pick([1, 1, 1, 5, 10, 20]),
    onlyIfNotReviewedToday: Math.random() < 0.3,
    pausedUntilTime: null,
    isEnabled: Math.random() >= OFF,
  };
}
