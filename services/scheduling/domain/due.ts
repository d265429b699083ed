// When a material is due, and what a snooze does to that.

/** A material without an instant is due at once. */
export function isDue(nextReviewTime: Date | null, now: Date): boolean {
  return nextReviewTime === null || nextReviewTime <= now;
}

/** A snooze puts a review off and never brings it forward. */
export function snoozedNextReviewTime(nextReviewTime: Date | null, snoozeUntilTime: Date, now: Date): Date {
  const dueTime = nextReviewTime ?? now;
  return dueTime > snoozeUntilTime ? dueTime : snoozeUntilTime;
}
