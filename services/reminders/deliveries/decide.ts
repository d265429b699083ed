// Decides what becomes of a delivery: before it is sent, and after an attempt.
import type { FailureCause, PushAddress, SendResult } from '../channels/channel.ts';
import { endOfDate } from '../reminders/next-occurrence.ts';
import { LATE_AFTER_MS, lateBefore, type Reminder, type ReminderSettings } from '../reminders/reminder.ts';
import type { SkipReason } from './delivery.ts';

/** The outcome of a leased delivery. */
export type Outcome =
  | { state: 'sent' }
  | { state: 'skipped'; skipReason: SkipReason }
  /** `cause`: for metrics. */
  | {
      state: 'failed';
      cause: FailureCause | 'gave up' | 'no user' | 'too many';
      failure: string;
    }
  /** To be retried; `failure` is absent if nothing has failed. `refusesUs`: the operator of the service must act. */
  | { state: 'pending'; retryInMs: number; failure?: string; refusesUs?: true };

/** `isEnabled`: the reminder is on and uses the delivery's channel. */
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
  /** Mails of the same user and local date that were sent, or are pending and older than this one. 0 for other channels. */
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

/** What accounts and scheduling know about a user. */
export type Answers = {
  isKnown: boolean;
  /** undefined: scheduling could not count for this user. */
  due: { dueCount: number; reviewedToday: boolean } | undefined;
};

/** Nothing was tried. */
const PEERS_UNAVAILABLE: Outcome = { state: 'pending', retryInMs: 10_000 };
/** Per user and local date, tests included, even if reminders are deleted and created again. */
const MAX_MAILS = 20;

/** 'send', or the outcome without sending. `answers`: undefined while accounts or scheduling is unavailable. */
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

/** The instant for which to ask what is due: now, or the end of the local date if that is over and `reviewedToday` matters. */
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
 * The outcome after an attempt. A temporary failure is retried after 30 s, doubled with each attempt up to 15 min, with half of it random,
 * or when the receiver says, if that is later. If the retry would be more than 2 h after `dueTime`, the delivery fails. `attempts`:
 * includes this one. `random`: from 0 to below 1.
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
