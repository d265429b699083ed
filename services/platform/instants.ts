// Formats and parses timestamps faster than Date: a list of 20 materials has 100 of them, and general parsers took a fifth
// of its time.

const MS_OF_DAY = 86_400_000;

const padded = (end: number, length: number) =>
  Array.from({ length: end }, (_, number) => `${number}`.padStart(length, '0'));
const TWO = padded(60, 2);
const THREE = padded(1000, 3);

/** RFC 3339 in UTC with milliseconds, like Date.prototype.toISOString, for years 0 to 9999. */
export function toIsoText(epochMs: number): string {
  const day = Math.floor(epochMs / MS_OF_DAY);
  const ms = epochMs - day * MS_OF_DAY;
  const seconds = Math.floor(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  return `${dateOf(day)}T${TWO[Math.floor(minutes / 60)]}:${TWO[minutes % 60]}:${TWO[seconds % 60]}.${THREE[ms % 1000]}Z`;
}

const MAX_DAYS = 10_000;
const dates = new Map<number, string>();

/** Cached YYYY-MM-DD: most timestamps lie within a few years. */
function dateOf(day: number): string {
  const known = dates.get(day);
  if (known !== undefined) return known;
  const date = new Date(day * MS_OF_DAY).toISOString().slice(0, 10);
  if (dates.size >= MAX_DAYS) dates.clear();
  dates.set(day, date);
  return date;
}

const digit = (text: string, at: number) => text.charCodeAt(at) - 48;
const two = (text: string, at: number) => 10 * digit(text, at) + digit(text, at + 1);
const UTC = '+00';

/**
 * Reads PostgreSQL's text of a timestamptz in a session whose time zone is UTC: "2026-12-01 10:00:00.12+00", at most
 * milliseconds. undefined for any other text, such as "infinity" or a year beyond 9999.
 */
export function fromPostgresText(text: string): Date | undefined {
  if (text.charCodeAt(4) !== 45 || text.charCodeAt(10) !== 32 || !text.endsWith(UTC)) return undefined;
  const fraction = text.length - UTC.length - '2026-12-01 10:00:00.'.length;
  if (fraction > 3) return undefined;
  let ms = 0;
  for (let index = 0; index < 3; index += 1) ms = 10 * ms + (index < fraction ? digit(text, 20 + index) : 0);
  const year = 100 * two(text, 0) + two(text, 2);
  // Date.UTC maps years below 100 to the twentieth century.
  if (year < 100) return undefined;
  return new Date(
    Date.UTC(year, two(text, 5) - 1, two(text, 8), two(text, 11), two(text, 14), two(text, 17), ms),
  );
}
