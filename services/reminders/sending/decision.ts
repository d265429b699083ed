// Decides whether a delivery is sent when its turn comes.

import type { Outcome } from '../deliveries/delivery.ts';
import { endOfDate } from '../reminders/next-occurrence.ts';
import { lateBefore } from '../reminders/reminder.ts';

/** A leased delivery with what is held here, as of now. */
export type Work = {
  isTest: boolean;
  /** Of the occurrence, YYYY-MM-DD. */
  localDate: string;
  dueTime: Date;
  /** Of the latest attempt; null before the first. */
  failure: string | null;
  /** null: deleted since. */
  reminder: {
    /** On, and by the delivery's channel. */
    isEnabled: boolean;
    pausedUntilTime: Date | null;
    minDue: number;
    onlyIfNotReviewedToday: boolean;
    timeZone: string;
  } | null;
};

/** The outcome of a delivery that needs no look at what is due; undefined for one that may be sent. */
export function decideBefore({ isTest, dueTime, failure, reminder }: Work, now: Date): Outcome | undefined {
  if (dueTime < lateBefore(now)) {
    return failure === null
      ? { state: 'skipped', skipReason: 'late' }
      : { state: 'failed', cause: 'gave up', failure: `${failure} Sending was given up after 2 hours.` };
  }
  if (isTest) return undefined;
  const isPaused = (reminder?.pausedUntilTime?.getTime() ?? 0) > now.getTime();
  return reminder?.isEnabled !== true || isPaused ? { state: 'skipped', skipReason: 'paused' } : undefined;
}

/** As of when to ask what is due: now, or the end of the local date if it is over and a review on it counts. */
export function asOfTime({ localDate, reminder }: Work, now: Date): Date {
  if (reminder?.onlyIfNotReviewedToday !== true) return now;
  try {
    const end = endOfDate(localDate, reminder.timeZone);
    return end < now ? end : now;
  } catch {
    // One zone that this Node does not know must not hold up the others.
    return now;
  }
}

/** The outcome of a delivery for which too little is due; undefined for one that is to be sent. */
export function decideByDue(
  { isTest, reminder }: Work,
  due: { dueCount: number; reviewedToday: boolean },
): Outcome | undefined {
  if (isTest || reminder === null) return undefined;
  if (due.dueCount < reminder.minDue) return { state: 'skipped', skipReason: 'nothing due' };
  if (reminder.onlyIfNotReviewedToday && due.reviewedToday)
    return { state: 'skipped', skipReason: 'already reviewed' };
  return undefined;
}
