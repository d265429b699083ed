// The effect of a snooze on the next review time.

/** A snooze postpones a review and never brings it forward. */
export function snoozedNextReviewTime(nextReviewTime: Date | null, snoozeUntilTime: Date, now: Date): Date {
  const dueTime = nextReviewTime ?? now;
  return dueTime > snoozeUntilTime ? dueTime : snoozeUntilTime;
}
