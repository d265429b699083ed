// The calendar day of an instant, within SQL.
import type { Clock } from '../../domain/calendar.ts';

/**
 * The calendar day of `time` by the clock in the parameters $`parameter` and the one after it. PostgreSQL is not asked for
 * the time zone: its data may be of another age than ours, and it takes names such as CET for a fixed offset.
 */
export function localDate(time: string, parameter: number): string {
  const change = `width_bucket(${time}, $${parameter}::timestamptz[])`;
  return `(${time} AT TIME ZONE ($${parameter + 1}::interval[])[${change} + 1])::date`;
}

/** What `localDate` wants as its two parameters. */
export function clockValues({ changes, offsets }: Clock): [readonly Date[], readonly string[]] {
  return [changes, offsets];
}
