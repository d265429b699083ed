// Parses the date-times that callers send.

const DATE_TIME =
  /^(\d{4})-(\d{2})-(\d{2})[Tt]([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d+))?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))$/;

/** RFC 3339 with an offset, to the millisecond; undefined for days that do not exist, leap seconds, years before 1 or past 9999. */
export function parseDateTime(text: string): Date | undefined {
  const match = DATE_TIME.exec(text);
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const local = new Date(0);
  local.setUTCFullYear(year, month - 1, day);
  if (local.getUTCMonth() !== month - 1 || local.getUTCDate() !== day) return undefined;
  const milliseconds = Number((match[7] ?? '').slice(0, 3).padEnd(3, '0'));
  local.setUTCHours(hour, minute, second, milliseconds);
  const offsetMinutes = Number(match[9] ?? 0) * 60 + Number(match[10] ?? 0);
  const time = new Date(local.getTime() - (match[8] === '-' ? -1 : 1) * offsetMinutes * 60_000);
  return time.getUTCFullYear() >= 1 && time.getUTCFullYear() <= 9999 ? time : undefined;
}
