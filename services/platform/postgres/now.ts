// The time in SQL: all processes agree on the database's clock, and each statement that needs the time reads it.

/** A test's clock; undefined: the database's. */
export type Now = (() => Date) | undefined;

/** The parameter of `nowIn`. */
export const nowParameter = (now: Now): Date | null => now?.() ?? null;

/** A SQL expression: the value of the parameter, such as "$2", or the current time if it is null, truncated to milliseconds. */
export function nowIn(parameter: string): string {
  return `coalesce(${parameter}::timestamptz, date_trunc('milliseconds', statement_timestamp()))`;
}
