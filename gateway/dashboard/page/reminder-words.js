// What reminders, their channels and their deliveries are called, in words that support can repeat to a learner.
/** @import { Delivery, EmailReminders, PushSubscriptionRow, Reminder, ReminderChannel, Reminders, User, Weekday } from './types.d.ts' */
import { counted, distance, instant, longDayOf, nowOf } from './format.js';

/** @type {readonly (readonly [Weekday, string, string])[]} Monday first: value, abbreviation, name */
export const WEEKDAYS = [
  ['MONDAY', 'Mon', 'Monday'],
  ['TUESDAY', 'Tue', 'Tuesday'],
  ['WEDNESDAY', 'Wed', 'Wednesday'],
  ['THURSDAY', 'Thu', 'Thursday'],
  ['FRIDAY', 'Fri', 'Friday'],
  ['SATURDAY', 'Sat', 'Saturday'],
  ['SUNDAY', 'Sun', 'Sunday'],
];

/** @type {Readonly<Record<ReminderChannel, string>>} */
export const CHANNELS = { EMAIL: 'e-mail', PUSH: 'push' };

/** Such as "every day", "Mon–Fri" or "Mon, Wed". @param {readonly Weekday[]} weekdays */
export function daysOf(weekdays) {
  if (weekdays.length === WEEKDAYS.length) return 'every day';
  /** @type {string[][]} */
  const runs = [[]];
  for (const [weekday, short] of WEEKDAYS) {
    if (weekdays.includes(weekday)) runs.at(-1)?.push(short);
    else runs.push([]);
  }
  return runs.flatMap((run) => (run.length > 2 ? `${run[0]}–${run.at(-1)}` : run)).join(', ');
}

/** @param {Pick<Reminder, 'time' | 'weekdays'>} reminder */
export const nameOf = ({ time, weekdays }) => `${time}, ${daysOf(weekdays)}`;

/** @param {Reminder} reminder @param {number} nowMs Of the learner. */
export const isPaused = ({ pausedUntil }, nowMs) => pausedUntil !== null && Date.parse(pausedUntil) > nowMs;

/** Whether the occurrence at `nextAt` is skipped for its pause. @param {Reminder} reminder */
export const isNextPaused = ({ nextAt, pausedUntil }) =>
  nextAt !== null && pausedUntil !== null && pausedUntil > nextAt;

/** @typedef {Reminders & { isPushSetUp: boolean }} Channels */

/** Whether a channel leads to the learner. @type {Readonly<Record<ReminderChannel, (channels: Channels) => boolean>>} */
const IS_OPEN = {
  EMAIL: ({ emailReminders }) => emailReminders.enabled,
  PUSH: ({ pushSubscriptions, isPushSetUp }) => isPushSetUp && pushSubscriptions.length > 0,
};

/** The channels of a reminder that lead to the learner. @param {Reminder} reminder @param {Channels} channels */
export const openChannels = (reminder, channels) =>
  reminder.channels.filter((channel) => IS_OPEN[channel](channels));

/**
 * When the next reminder comes, or why none comes.
 * @param {Channels} reminders
 * @param {User} user
 * @returns {{ what: string, advice?: string }} `advice`: what an operator can do.
 */
export function nextReminder(reminders, user) {
  const { timeZone } = user;
  const nowMs = nowOf(user);
  const all = reminders.reminders;
  if (all.length === 0)
    return { what: 'This learner has no reminder.', advice: 'Add one to tell them when reviews are due.' };
  const enabled = all.filter(({ enabled }) => enabled);
  if (enabled.length === 0)
    return { what: 'No reminder comes: all are switched off.', advice: 'Switch one on below.' };
  const reached = enabled.filter((reminder) => openChannels(reminder, reminders).length > 0);
  if (reached.length === 0) return unreached(enabled, reminders);
  const paused = earliest(reached.filter(isNextPaused), 'pausedUntil');
  const next = earliest(
    reached.filter((reminder) => !isNextPaused(reminder)),
    'nextAt',
  );
  if (next?.nextAt) {
    const isLate = Date.parse(next.nextAt) < nowMs;
    const by = openChannels(next, reminders).map((channel) => CHANNELS[channel]);
    const mayBeEarlier =
      paused?.pausedUntil && paused.pausedUntil < next.nextAt
        ? ` One that is paused until ${instant(paused.pausedUntil, timeZone)} may come before it.`
        : '';
    return {
      what: `The next reminder ${isLate ? 'was to come' : 'comes'} ${instant(next.nextAt, timeZone)} (${distance(next.nextAt, nowMs)}), by ${by.join(' and ')}${isLate ? '' : conditionOf(next)}.${mayBeEarlier}`,
    };
  }
  return {
    what: `No reminder comes before ${instant(paused?.pausedUntil ?? null, timeZone)}: until then they are paused.`,
    advice: 'Resume one below if it should come earlier.',
  };
}

/** The condition under which a reminder is sent, in words. @param {Reminder} reminder */
const conditionOf = ({ minDue, labels, onlyIfNotReviewedToday }) =>
  `, if ${minDue === 1 ? `a review${ofLabels(labels)} is` : `at least ${minDue} reviews${ofLabels(labels)} are`} due then${onlyIfNotReviewedToday ? ' and none was done that day' : ''}`;

/** @param {readonly string[]} labels */
const ofLabels = ([first, ...others]) => {
  if (first === undefined) return '';
  return others.length === 0 ? ` of “${first}”` : ` of ${counted(others.length + 1, 'label')}`;
};

/** @param {readonly Reminder[]} reminders @param {'nextAt' | 'pausedUntil'} field */
const earliest = (reminders, field) =>
  reminders.toSorted((a, b) => (a[field] ?? '').localeCompare(b[field] ?? ''))[0];

/** @param {readonly Reminder[]} enabled @param {Channels} channels */
function unreached(enabled, { isPushSetUp }) {
  const used = new Set(enabled.flatMap(({ channels }) => channels));
  const reasons = [
    used.has('EMAIL') && 'e-mail is off',
    used.has('PUSH') &&
      (isPushSetUp ? 'no browser takes push messages' : 'push is not set up on this server'),
  ].filter(Boolean);
  return {
    what: `No reminder comes: ${reasons.join(', and ')}.`,
    advice: used.has('EMAIL')
      ? 'Switch e-mail on below, or give a reminder another channel.'
      : isPushSetUp
        ? 'Give a reminder another channel, or let the learner allow messages in the learning app.'
        : 'Give a reminder another channel.',
  };
}

/** @type {Readonly<Record<NonNullable<EmailReminders['offReason']>, string>>} */
export const OFF_REASONS = {
  SWITCHED_OFF: 'it was switched off in the settings.',
  UNSUBSCRIBED: 'the learner followed the link to unsubscribe in a message.',
  REFUSED: 'the mail server refused three messages in a row.',
};

/** @param {EmailReminders} email @param {string} timeZone */
export function emailState({ enabled, offReason, offAt }, timeZone) {
  if (enabled) return 'On.';
  const since = offAt === null ? 'Off' : `Off since ${longDayOf(offAt, timeZone)}`;
  return offReason === null ? `${since}.` : `${since}: ${OFF_REASONS[offReason]}`;
}

/** @param {Delivery} delivery @param {readonly PushSubscriptionRow[]} subscriptions Those that are known. @param {string} other What any other is. */
export function addressOf({ channel, pushSubscriptionId }, subscriptions, other) {
  if (pushSubscriptionId === null) return CHANNELS[channel];
  const host = subscriptions.find(({ id }) => id === pushSubscriptionId)?.host;
  return `${CHANNELS[channel]}, ${host ?? other}`;
}

/**
 * What became of a delivery.
 * @param {Delivery} delivery
 * @param {{ reminder: Reminder | undefined, timeZone: string }} about `reminder`: the one that made it, if it still exists.
 */
export function outcomeOf({ state, skipReason, failure, attempts, updatedAt }, { reminder, timeZone }) {
  const reason = failure === null ? '' : sentence(failure);
  if (state === 'SENT') return `Sent ${instant(updatedAt, timeZone)}.`;
  if (state === 'KEPT') return 'Kept, not sent: this is a sandbox learner.';
  if (state === 'FAILED') return `Failed: ${reason || 'the reason is not known.'}`;
  if (state === 'PENDING')
    return reason ? `To be tried again. Attempt ${attempts} failed: ${reason}` : 'Waiting to be sent.';
  if (skipReason === 'ALREADY_REVIEWED') return 'Skipped: already reviewed that day.';
  if (skipReason === 'LATE') return 'Skipped: its turn came more than two hours late.';
  if (skipReason === 'SANDBOX') return 'Skipped: a sandbox user is sent nothing.';
  if (skipReason === 'PAUSED')
    return 'Skipped: the reminder was paused or off, or none of its channels reached the learner.';
  // Only its present settings are known.
  if (reminder === undefined || reminder.updatedAt > updatedAt)
    return 'Skipped: nothing was due at that time, or fewer reviews than the reminder asked for.';
  return reminder.minDue > 1
    ? 'Skipped: fewer reviews were due than the reminder asks for.'
    : `Skipped: nothing${reminder.labels.length > 0 ? ' with its labels' : ''} was due at that time.`;
}

/** @param {string} text */
const sentence = (text) => (/[.!?]$/.test(text) ? text : `${text}.`);
