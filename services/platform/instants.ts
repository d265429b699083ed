// Formats and parses timestamps faster than Date: a list of 20 materials has 100 of them, and general parsers took a fifth
// of its time.

const MS_OF_DAY = 86_400_000;
const [DASH, COLON, DOT, T, Z] = [45, 58, 46, 84, 90];

const ones = (value: number) => 48 + (value % 10);
const tens = (value: number) => 48 + (Math.floor(value / 10) % 10);
const hundreds = (value: number) => 48 + Math.floor(value / 100);

/** RFC 3339 in UTC with milliseconds, like Date.prototype.toISOString, for years 0 to 9999. */
export function toIsoText(epochMs: number): string {
  const day = Math.floor(epochMs / MS_OF_DAY);
  const [y1, y2, y3, y4, m1, m2, d1, d2] = digitsOf(day);
  const ms = epochMs - day * MS_OF_DAY;
  const seconds = Math.floor(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  const [hh, mm, ss, fff] = [Math.floor(minutes / 60), minutes % 60, seconds % 60, ms % 1000];
  // One template: each concatenation would allocate an intermediate string.
  // biome-ignore format: as it reads
  return String.fromCharCode(
    y1, y2, y3, y4, DASH, m1, m2, DASH, d1, d2, T,
    tens(hh), ones(hh), COLON, tens(mm), ones(mm), COLON, tens(ss), ones(ss), DOT,
    hundreds(fff), tens(fff), ones(fff), Z,
  );
}

type Digits = [number, number, number, number, number, number, number, number];
const MAX_DAYS = 10_000;
const digits = new Map<number, Digits>();

/** Cached digits of year, month and day: most timestamps lie within a few years. */
function digitsOf(day: number): Digits {
  const known = digits.get(day);
  if (known !== undefined) return known;
  const date = new Date(day * MS_OF_DAY).toISOString();
  const at = (place: number) => date.charCodeAt(place);
  const found: Digits = [at(0), at(1), at(2), at(3), at(5), at(6), at(8), at(9)];
  if (digits.size >= MAX_DAYS) digits.clear();
  digits.set(day, found);
  return found;
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
