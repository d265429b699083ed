// The custom scalars of the schema.
import { GraphQLError, GraphQLScalarType, Kind } from 'graphql';
import { parseDateTime } from '../../services/platform/date-time.ts';
import { toIsoText } from '../../services/platform/instants.ts';

export const NO_DATE_TIME = 'must be a time with an offset, such as 2026-12-01T10:00:00Z';
export const NO_DATE = 'must be a day, such as 2026-12-01';

/** Output values are milliseconds since 1970, input values are Dates. */
export const DateTime = new GraphQLScalarType<Date, string>({
  name: 'DateTime',
  description:
    'An instant in UTC with milliseconds, such as 2026-12-01T10:00:00.000Z. As input any RFC 3339 time with an offset.',
  serialize: (value) => {
    if (typeof value === 'number') return toIsoText(value);
    throw new GraphQLError('a resolver answered a DateTime that is no number');
  },
  parseValue: requireDateTime,
  parseLiteral: (node) => requireDateTime(node.kind === Kind.STRING ? node.value : undefined),
});

export const CalendarDate = new GraphQLScalarType<string, string>({
  name: 'Date',
  description: 'A calendar day as YYYY-MM-DD.',
  serialize: String,
  parseValue: requireDate,
  parseLiteral: (node) => requireDate(node.kind === Kind.STRING ? node.value : undefined),
});

/** Whether there is such a day, scheduling says. */
function requireDate(value: unknown): string {
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value)) return value;
  throw new GraphQLError(NO_DATE);
}

function requireDateTime(value: unknown): Date {
  const time = typeof value === 'string' ? parseDateTime(value) : undefined;
  if (time === undefined) throw new GraphQLError(NO_DATE_TIME);
  return time;
}
