// The scalars of the schema that GraphQL does not bring.
import { GraphQLError, GraphQLScalarType, Kind } from 'graphql';
import { toIsoText } from '../services/platform/instants.ts';

const DATE_TIME = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;

export const DateTime = new GraphQLScalarType<Date, string>({
  name: 'DateTime',
  description:
    'An instant in UTC with milliseconds, such as 2026-12-01T10:00:00.000Z. As input any RFC 3339 time with an offset.',
  serialize: (value) => {
    if (value instanceof Date) return toIsoText(value.getTime());
    throw new GraphQLError('a resolver answered a DateTime that is no Date');
  },
  parseValue: parseDateTime,
  parseLiteral: (node) => parseDateTime(node.kind === Kind.STRING ? node.value : undefined),
});

export const CalendarDate = new GraphQLScalarType<string, string>({
  name: 'Date',
  description: 'A calendar day as YYYY-MM-DD.',
  serialize: String,
});

function parseDateTime(value: unknown): Date {
  const time = typeof value === 'string' && DATE_TIME.test(value) ? new Date(value) : undefined;
  // Date takes 30 February for 2 March: what does not come out as it went in is no day.
  const day = typeof value === 'string' ? value.slice(0, 10) : '';
  const isDay = new Date(`${day}T00:00:00Z`).toJSON()?.startsWith(day) === true;
  if (time !== undefined && isDay && !Number.isNaN(time.getTime())) return time;
  throw new GraphQLError('must be a time with an offset, such as 2026-12-01T10:00:00Z');
}
