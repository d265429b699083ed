// SQL for the calendar day of an instant.

/**
 * The calendar day of `time` with the UTC offsets in $`parameter` and the next parameter. Does not use PostgreSQL's time zones:
 * their data can have another version than Node's, and names such as CET can mean a fixed offset.
 */
export function localDate(time: string, parameter: number): string {
  const change = `width_bucket(${time}, $${parameter}::timestamptz[])`;
  return `(${time} AT TIME ZONE ($${parameter + 1}::interval[])[${change} + 1])::date`;
}
