// Words that the channels share, and text of users made harmless for a line of a message.
import { graphemesOf } from '../../platform/text.ts';
import { timeOfDay } from '../reminders/next-occurrence.ts';

/** Controls (line breaks among them), marks that change the direction of text, and line and paragraph separators. */
const UNSAFE = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+/gu;
/** Spaces, invisible characters, and the empty pattern of Braille. */
const SHOWS_NOTHING = /^[\p{C}\p{Z}\p{M}\p{Default_Ignorable_Code_Point}\u2800]*$/u;

/**
 * One line without control characters, of at most so many graphemes, which are what a reader sees as one character, and so many
 * octets of UTF-8. A longer text ends in an ellipsis.
 */
export function toLine(text: string, maxGraphemes: number, maxOctets = Number.POSITIVE_INFINITY): string {
  const line = text.toWellFormed().replace(UNSAFE, ' ').replace(/ {2,}/g, ' ').trim();
  const ellipsis = '…';
  let cut = '';
  let count = 0;
  let octets = 0;
  for (const grapheme of graphemesOf(line)) {
    count += 1;
    octets += Buffer.byteLength(grapheme);
    if (count > maxGraphemes || octets > maxOctets) return `${cut}${ellipsis}`;
    // The ellipsis takes a place of its own.
    if (count < maxGraphemes && octets <= maxOctets - Buffer.byteLength(ellipsis)) cut += grapheme;
  }
  return line;
}

/** A title as `toLine` makes it; "(no title)" for one in which nothing can be seen. */
export function toTitle(title: string, maxGraphemes: number): string {
  return SHOWS_NOTHING.test(title.toWellFormed()) ? '(no title)' : toLine(title, maxGraphemes);
}

const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/** Such as "08:00 every day" or "18:30 on Mon–Fri". `weekdays`: 1 (Monday) to 7, in order. */
export function toTimeAndDays(minuteOfDay: number, weekdays: readonly number[]): string {
  const time = timeOfDay(minuteOfDay);
  if (weekdays.length === WEEKDAYS.length) return `${time} every day`;
  const runs: string[][] = [[]];
  for (const [index, name] of WEEKDAYS.entries()) {
    if (weekdays.includes(index + 1)) runs.at(-1)?.push(name);
    else runs.push([]);
  }
  const days = runs.flatMap((run) => (run.length > 2 ? [`${run[0]}–${run.at(-1)}`] : run));
  return `${time} on ${days.join(', ')}`;
}

/** The number at which counting ends (BatchGetDueCounts): it stands for this many or more. */
const MAX_COUNTED = 1000;

/** Such as "1 material is due" or "1,000 or more materials are due". */
export function dueSentence(dueCount: number): string {
  if (dueCount === 0) return 'No materials are due';
  if (dueCount === 1) return '1 material is due';
  const count = dueCount < MAX_COUNTED ? `${dueCount}` : '1,000 or more';
  return `${count} materials are due`;
}
