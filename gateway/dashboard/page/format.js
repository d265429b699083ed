// Formats numbers, days and instants for people. Instants are in the learner's time zone.

export const DAY_MS = 86_400_000;

const number = new Intl.NumberFormat('en');
const plural = new Intl.PluralRules('en');

/** @param {number} value */
export const whole = (value) => number.format(value);

/** @param {number} count @param {string} noun */
export const counted = (count, noun) => `${whole(count)} ${noun}${plural.select(count) === 'one' ? '' : 's'}`;

/** A length of time: days, from two years on in years. @param {number} days */
export const span = (days) =>
  days < 730 ? counted(days, 'day') : counted(Math.round((days / 365.25) * 10) / 10, 'year');

/** From one length of time to another, both in days or in their own units. @param {number} before @param {number} after In days. */
export const spans = (before, after) =>
  `${after < 730 && before < 730 ? whole(before) : span(before)} → ${span(after)}`;

/** Whether there is anything to see: blanks and invisible characters alone would be a link of no width. @param {string} text */
export const isVisible = (text) =>
  /[^\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cc}\u2800]/u.test(text);

/** A title as people see it. @param {string} title */
export const titleOf = (title) => (isVisible(title) ? title : '(no title)');

/** Empty for a learner without a name. @param {{ firstName: string | null, lastName: string | null }} learner */
export const fullName = ({ firstName, lastName }) => [firstName, lastName].filter(Boolean).join(' ');

/** Share from 0 to 1. @param {number | null} share */
export const percent = (share) => (share === null ? '–' : `${Math.round(share * 100)}\u00a0%`);

/** @param {string} text A value of an enumeration. */
export const spoken = (text) => text.charAt(0) + text.slice(1).toLowerCase().replaceAll('_', ' ');

/** What the forms call fields whose label is not their name in words. @type {Readonly<Record<string, string>>} */
const LABELS = {
  days: 'number of days',
  desiredRetention: 'target recall',
  email: 'e-mail address',
  expiresAt: 'ends',
  leechLapses: 'times forgotten',
  minDue: 'minimum due',
  parameters: 'FSRS parameters',
  perDay: 'maximum reviews on one day',
  scheduler: 'method',
  snoozeUntil: 'date and time',
  weekdays: 'days',
};

/** A field of the gateway in the words of the forms. @param {string} field */
export const fieldName = (field) =>
  LABELS[field] ?? field.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** @type {Readonly<Record<string, string>>} */
const BANDS = {
  NEW: 'new',
  DAYS_1_TO_6: '1–6 days',
  DAYS_7_TO_20: '7–20 days',
  DAYS_21_TO_89: '21–89 days',
  DAYS_90_AND_MORE: '90+ days',
};
/** @param {string} band */
export const bandName = (band) => BANDS[band] ?? band;
/** @param {string} band */
export const shortBandName = (band) => bandName(band).replace(' days', '\u00a0d');

/** @param {string} date YYYY-MM-DD @param {Intl.DateTimeFormatOptions} [options] */
export const day = (date, options = { day: 'numeric', month: 'short' }) =>
  shown(Date.parse(`${date}T00:00:00Z`), 'UTC', options);
/** @param {string} date YYYY-MM-DD */
export const longDay = (date) => day(date, LONG);

/** The day of an instant. @param {string} time @param {string} timeZone */
export const longDayOf = (time, timeZone) => shown(Date.parse(time), timeZone, LONG);

/** @type {Intl.DateTimeFormatOptions} */
const LONG = { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' };

/** The date that is `days` later. @param {string} date YYYY-MM-DD @param {number} days */
export const nextDay = (date, days) =>
  new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);

/** @param {string} time @param {string} timeZone */
export const timeOfDay = (time, timeZone) => shown(Date.parse(time), timeZone, { timeStyle: 'short' });

/** @param {string | null} time @param {string} timeZone */
export const instant = (time, timeZone) =>
  time === null ? '–' : shown(Date.parse(time), timeZone, { dateStyle: 'medium', timeStyle: 'short' });

/** The day of an instant, for an axis. @param {number} timeMs @param {string} timeZone */
export const shortDay = (timeMs, timeZone) =>
  shown(timeMs, timeZone, { day: 'numeric', month: 'short', year: '2-digit' });

/** @param {number} timeMs @param {string} timeZone @param {Intl.DateTimeFormatOptions} options */
const shown = (timeMs, timeZone, options) =>
  new Intl.DateTimeFormat('en-GB', { ...options, timeZone: knownZone(timeZone) }).format(timeMs);

/** @typedef {{ testClock: { now: string } | null }} Clocked */

/** What time it is for a learner, in milliseconds: a sandbox user has a clock of their own. @param {Clocked} learner */
export const nowOf = ({ testClock }) => (testClock === null ? Date.now() : Date.parse(testClock.now));

/** Relative to now, such as "in 15 days" or "3 hours ago". @param {string} time */
export function distance(time, now = Date.now()) {
  const seconds = (Date.parse(time) - now) / 1000;
  const format = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
  if (Math.abs(seconds) < 90) return 'now';
  if (Math.abs(seconds) < 5400) return format.format(Math.round(seconds / 60), 'minute');
  if (Math.abs(seconds) < 129_600) return format.format(Math.round(seconds / 3600), 'hour');
  if (Math.abs(seconds) < 730 * 86_400) return format.format(Math.round(seconds / 86_400), 'day');
  return format.format(Math.round(seconds / (365.25 * 86_400)), 'year');
}

/**
 * The instant of a local time in a zone: of one that the zone repeats, the first; for one that it skips, as much after the gap.
 * @param {string} local YYYY-MM-DDTHH:MM, as an input has it
 * @param {string} timeZone
 */
export function instantOf(local, timeZone) {
  const shown = Date.parse(`${local}Z`);
  // By the clock of the day before, or of the day after.
  const before = shown - offsetMs(shown - DAY_MS, timeZone);
  const after = shown - offsetMs(shown + DAY_MS, timeZone);
  const isShown = (/** @type {number} */ timeMs) => timeMs + offsetMs(timeMs, timeZone) === shown;
  return new Date(isShown(after) && !isShown(before) ? after : before);
}

/**
 * An instant on the clock of a zone, as an input has it: YYYY-MM-DDTHH:MM.
 * @param {number} timeMs
 * @param {string} timeZone
 */
export const localOf = (timeMs, timeZone) =>
  new Date(timeMs + offsetMs(timeMs, timeZone)).toISOString().slice(0, 16);

/** The date after a learner’s today. @param {Clocked & { timeZone: string }} learner */
export function tomorrowOf(learner) {
  return nextDay(localOf(nowOf(learner), learner.timeZone).slice(0, 10), 1);
}

/** How far the clock of a zone is ahead of UTC. @param {number} timeMs @param {string} timeZone */
function offsetMs(timeMs, timeZone) {
  const format = new Intl.DateTimeFormat('en', { timeZone: knownZone(timeZone), timeZoneName: 'longOffset' });
  const parts = format.formatToParts(timeMs);
  // Such as GMT+02:00; GMT for none. In the 19th century there were seconds, too.
  const offset = parts.find(({ type }) => type === 'timeZoneName')?.value.slice(3, 9);
  return -Date.parse(`1970-01-01T00:00${offset || 'Z'}`);
}

/** The server may know zones that this browser does not. @param {string} timeZone */
function knownZone(timeZone) {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone;
  } catch {
    return 'UTC';
  }
}
