// When a delivery is tried again.

import type { Outcome } from '../deliveries/delivery.ts';
import { LATE_AFTER_MS } from '../reminders/reminder.ts';

const FIRST_RETRY_MS = 30_000;
const LONGEST_RETRY_MS = 15 * 60_000;

/**
 * The outcome of a temporary failure: another try after 30 s, then twice as long each time up to 15 min, half of it by
 * chance; or a failure, if that would be more than 2 h after `dueTime`. `attempts`: made so far, this one included.
 * `random`: from 0 to below 1.
 */
export function retryOrGiveUp(
  failed: { reason: string; retryAfterMs?: number },
  { attempts, dueTime, now, random }: { attempts: number; dueTime: Date; now: Date; random: number },
): Outcome {
  const longest = Math.min(FIRST_RETRY_MS * 2 ** (attempts - 1), LONGEST_RETRY_MS);
  const backoffMs = Math.round(longest * (0.5 + random / 2));
  const retryInMs = Math.max(backoffMs, failed.retryAfterMs ?? 0);
  if (now.getTime() + retryInMs <= dueTime.getTime() + LATE_AFTER_MS)
    return { state: 'pending', retryInMs, failure: failed.reason };
  const tried = attempts === 1 ? '1 attempt' : `${attempts} attempts`;
  return {
    state: 'failed',
    cause: 'gave up',
    failure: `${failed.reason} Sending was given up after ${tried}.`,
  };
}
