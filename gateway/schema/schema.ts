// The schema with its scalars and resolvers.
import { makeExecutableSchema } from '@graphql-tools/schema';
import {
  defaultFieldResolver,
  GraphQLError,
  GraphQLScalarType,
  type GraphQLSchema,
  isObjectType,
  Kind,
} from 'graphql';
import type { Resolvers } from '../../generated/gateway/resolvers.ts';
import { parseDateTime } from '../../services/platform/date-time.ts';
import { invalidField } from '../../services/platform/errors.ts';
import { toIsoText } from '../../services/platform/instants.ts';
import { isStorable } from '../../services/platform/text.ts';
import { auditMutations } from '../access/audit.ts';
import type { GatewayContext } from '../context.ts';
import { Material, Review, Snooze } from '../resolvers/material.ts';
import { Mutation } from '../resolvers/mutation.ts';
import { EmailOffUser, Learner, Overview, Query, RefusedApiKey } from '../resolvers/query.ts';
import {
  CalendarFeed,
  EmailReminders,
  PushSubscription,
  Reminder,
  ReminderDelivery,
  reminderMutations,
  remindersOfUser,
} from '../resolvers/reminders.ts';
import { Stats } from '../resolvers/stats.ts';
import { TimelineEvent } from '../resolvers/timeline.ts';
import { ApiKey, User } from '../resolvers/user.ts';
import { readTypeDefinitions } from './type-definitions.ts';

export function buildGatewaySchema(): GraphQLSchema {
  const resolvers: Resolvers = {
    DateTime,
    Date: CalendarDate,
    Query,
    Mutation: { ...Mutation, ...reminderMutations },
    User: { ...User, ...remindersOfUser },
    ApiKey,
    Material,
    Review,
    Snooze,
    TimelineEvent,
    Stats,
    Overview,
    Learner,
    RefusedApiKey,
    EmailOffUser,
    Reminder,
    ReminderDelivery,
    PushSubscription,
    CalendarFeed,
    EmailReminders,
  };
  const schema = makeExecutableSchema({ typeDefs: readTypeDefinitions(), resolvers });
  guardFields(schema);
  auditMutations(schema);
  return schema;
}

/**
 * Modifies `schema` in place: counts each field of an answer, and refuses text in arguments that PostgreSQL cannot store in UTF-8,
 * as REST does, in literals and variables.
 */
function guardFields(schema: GraphQLSchema): void {
  for (const type of Object.values(schema.getTypeMap()).filter(isObjectType)) {
    if (type.name.startsWith('__')) continue;
    for (const field of Object.values(type.getFields())) {
      const resolve = field.resolve ?? defaultFieldResolver;
      field.resolve = (parent, input: Record<string, unknown>, context: GatewayContext, info) => {
        const excess = context.budget.countField();
        if (excess !== undefined) return excess;
        for (const name in input) requireStorable(name, input[name]);
        return resolve(parent, input, context, info);
      };
    }
  }
}

/** `name`: the argument or the innermost input field. @throws INVALID_REQUEST with it as the field. */
function requireStorable(name: string, value: unknown): void {
  if (typeof value === 'string') {
    if (!isStorable(value)) throw invalidField(name, 'must not hold U+0000 or half of a surrogate pair.');
  } else if (Array.isArray(value)) {
    for (const item of value) requireStorable(name, item);
  } else if (typeof value === 'object' && value !== null && !(value instanceof Date)) {
    for (const [field, part] of Object.entries(value)) requireStorable(field, part);
  }
}

/** Output values are milliseconds since 1970, input values are Dates. */
const DateTime = new GraphQLScalarType<Date, string>({
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

const CalendarDate = new GraphQLScalarType<string, string>({
  name: 'Date',
  description: 'A calendar day as YYYY-MM-DD.',
  serialize: String,
  parseValue: requireDate,
  parseLiteral: (node) => requireDate(node.kind === Kind.STRING ? node.value : undefined),
});

/** Whether there is such a day, scheduling says. */
function requireDate(value: unknown): string {
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value)) return value;
  throw new GraphQLError('must be a day, such as 2026-12-01');
}

function requireDateTime(value: unknown): Date {
  const time = typeof value === 'string' ? parseDateTime(value) : undefined;
  if (time === undefined)
    throw new GraphQLError('must be a time with an offset, such as 2026-12-01T10:00:00Z');
  return time;
}
