// A reminder, and the instant at which its turn comes.
import type { ChannelName } from '../channels/registry.ts';
import { nextOccurrence, type Occurrence, type Timing } from './next-occurrence.ts';

export type ReminderSettings = Timing & {
  /** Each once, in the registry's order. */
  channels: readonly ChannelName[];
  minDue: number;
  onlyIfNotReviewedToday: boolean;
  pausedUntilTime: Date | null;
  isEnabled: boolean;
  /** Only materials with one of these labels count as due; empty: all materials. */
  labels: readonly string[];
};

export type Reminder = ReminderSettings & {
  userId: string;
  reminderId: string;
  /** The user's when `next` was worked out. */
  timeZone: string;
  /** Local date of the latest occurrence; null before the first. */
  lastDate: string | null;
  /** null while the reminder is not enabled. */
  next: Occurrence | null;
  createTime: Date;
  updateTime: Date;
};

/** An occurrence whose turn comes later than this is skipped. */
export const LATE_AFTER_MS = 2 * 60 * 60_000;

/** Turns before this instant are too late at `now`. */
export function lateBefore(now: Date): Date {
  return new Date(now.getTime() - LATE_AFTER_MS);
}

/** 0 to 59 s, fixed for each user and even over users: the last digits of a UUID of version 7 are random. */
export function spreadMs(userId: string): number {
  return (Number.parseInt(userId.slice(-8), 16) % 60) * 1000;
}

/** The next occurrence whose turn, the user's spread included, comes at `from` or later; null for a reminder that is off. */
export function nextTurn(
  reminder: Pick<Reminder, 'userId' | 'minuteOfDay' | 'weekdays' | 'isEnabled' | 'timeZone' | 'lastDate'>,
  from: Date,
): Occurrence | null {
  if (!reminder.isEnabled) return null;
  const spread = spreadMs(reminder.userId);
  const { date, time } = nextOccurrence(reminder, reminder.timeZone, {
    from: new Date(from.getTime() - spread),
    afterDate: reminder.lastDate,
  });
  return { date, time: new Date(time.getTime() + spread) };
}
