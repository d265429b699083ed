// Decides what becomes of a delivery: before it is sent, and after an attempt.
import type { FailureCause, PushAddress, SendResult } from '../channels/channel.ts';
import { endOfDate } from '../reminders/next-occurrence.ts';
import { LATE_AFTER_MS, lateBefore, type Reminder, type ReminderSettings } from '../reminders/reminder.ts';
import type { SkipReason } from './delivery.ts';

/** What a loop makes of a delivery that it has leased. */
export type Outcome =
  | { state: 'sent' }
  | { state: 'skipped'; skipReason: SkipReason }
  /** `cause`: for metrics. */
  | {
      state: 'failed';
      cause: FailureCause | 'gave up' | 'no user' | 'too many';
      failure: string;
    }
  /** To be taken again; `failure` is absent if nothing has failed. `refusesUs`: whoever operates the service must act. */
  | { state: 'pending'; retryInMs: number; failure?: string; refusesUs?: true };

/** `isEnabled`: on, and by the delivery's channel. */
export type LeasedReminder = Omit<ReminderSettings, 'channels'> & Pick<Reminder, 'timeZone'>;

/** A delivery as it was when it was leased. */
export type LeasedDelivery = {
  userId: string;
  deliveryId: string;
  /** Counts the leases of this delivery. */
  lease: number;
  isTest: boolean;
  /** Of the occurrence, YYYY-MM-DD. */
  localDate: string;
  dueTime: Date;
  /** Of the latest attempt; null before the first. */
  failure: string | null;
  /** Made so far. */
  attempts: number;
  /** Mails for the same user and local date that are sent, or were made before this one and are to be sent. 0 by other channels. */
  mailsBefore: number;
  /** null: deleted since. */
  reminder: LeasedReminder | null;
  emailIsOn: boolean;
  unsubscribeToken: Buffer;
  /** null: removed since, or none. */
  subscription: PushAddress | null;
};

/** `attempts`: made so far. */
export type Ending = { delivery: LeasedDelivery; outcome: Outcome; attempts: number };

/** What a user's other services say; undefined where they are away. */
export type Answers = {
  isKnown: boolean;
  /** undefined: scheduling could not count for this user. */
  due: { dueCount: number; reviewedToday: boolean } | undefined;
};

/** Nothing was tried. */
const PEERS_UNAVAILABLE: Outcome = { state: 'pending', retryInMs: 10_000 };
/** A user and local date get no more, whatever reminders are made and deleted; tests count. */
const MAX_MAILS = 20;

/** 'send', or what becomes of the delivery instead. */
export function decide(
  {
    isTest,
    dueTime,
    failure,
    mailsBefore,
    reminder,
  }: Pick<LeasedDelivery, 'isTest' | 'dueTime' | 'failure' | 'mailsBefore' | 'reminder'>,
  answers: Answers | undefined,
  now: Date,
): Outcome | 'send' {
  if (dueTime < lateBefore(now)) {
    if (failure === null) return { state: 'skipped', skipReason: 'late' };
    return { state: 'failed', cause: 'gave up', failure: `${failure} Sending was given up after 2 hours.` };
  }
  const isPaused = (reminder?.pausedUntilTime?.getTime() ?? 0) > now.getTime();
  if (!isTest && (reminder?.isEnabled !== true || isPaused))
    return { state: 'skipped', skipReason: 'paused' };
  if (mailsBefore >= MAX_MAILS)
    return { state: 'failed', cause: 'too many', failure: `At most ${MAX_MAILS} mails a day are sent.` };
  if (answers === undefined) return PEERS_UNAVAILABLE;
  if (!answers.isKnown) return { state: 'failed', cause: 'no user', failure: 'This user no longer exists.' };
  const { due } = answers;
  if (due === undefined) return PEERS_UNAVAILABLE;
  if (isTest || reminder === null) return 'send';
  if (due.dueCount < reminder.minDue) return { state: 'skipped', skipReason: 'nothing due' };
  if (reminder.onlyIfNotReviewedToday && due.reviewedToday)
    return { state: 'skipped', skipReason: 'already reviewed' };
  return 'send';
}

/** As of when to ask what is due: now, or the end of the local date if it is over and a review on it counts. */
export function asOfTime({ localDate, reminder }: LeasedDelivery, now: Date): Date {
  if (reminder?.onlyIfNotReviewedToday !== true) return now;
  try {
    const end = endOfDate(localDate, reminder.timeZone);
    return end < now ? end : now;
  } catch {
    // One zone that this Node does not know must not hold up the others.
    return now;
  }
}

const FIRST_RETRY_MS = 30_000;
const LONGEST_RETRY_MS = 15 * 60_000;

/**
 * What becomes of a delivery after an attempt. A temporary failure: another try after 30 s, then twice as long each time up to
 * 15 min, half of it by chance, or when the receiver says, if that is later; a failure, if that would be more than 2 h after its
 * turn. `attempts`: made so far, this one included. `random`: from 0 to below 1.
 */
export function afterAttempt(
  sent: SendResult,
  { attempts, dueTime, now, random }: { attempts: number; dueTime: Date; now: Date; random: number },
): Outcome {
  if (sent.result === 'sent') return { state: 'sent' };
  if (sent.result === 'failed') return { state: 'failed', cause: sent.cause, failure: sent.reason };
  const longest = Math.min(FIRST_RETRY_MS * 2 ** (attempts - 1), LONGEST_RETRY_MS);
  const retryInMs = Math.max(Math.round(longest * (0.5 + random / 2)), sent.retryAfterMs ?? 0);
  if (now.getTime() + retryInMs <= dueTime.getTime() + LATE_AFTER_MS) {
    const refusesUs = sent.refusesUs === true && { refusesUs: true as const };
    return { state: 'pending', retryInMs, failure: sent.reason, ...refusesUs };
  }
  const tried = attempts === 1 ? '1 attempt' : `${attempts} attempts`;
  return {
    state: 'failed',
    cause: 'gave up',
    failure: `${sent.reason} Sending was given up after ${tried}.`,
  };
}
