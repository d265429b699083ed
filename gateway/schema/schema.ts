// The schema with its scalars and resolvers.
import { makeExecutableSchema } from '@graphql-tools/schema';
import {
  defaultFieldResolver,
  GraphQLError,
  type GraphQLFieldResolver,
  GraphQLID,
  type GraphQLInputType,
  GraphQLScalarType,
  type GraphQLSchema,
  getNullableType,
  isInputObjectType,
  isListType,
  isObjectType,
  parse,
} from 'graphql';
import { invalidField } from '../../services/platform/errors.ts';
import { parseDateTime, toIsoText } from '../../services/platform/instants.ts';
import { isStorable } from '../../services/platform/text.ts';
import { readUuid } from '../../services/platform/uuid.ts';
import { auditMutations } from '../access/audit.ts';
import type { GatewayContext } from '../context.ts';
import { materialResolvers } from '../resolvers/material.ts';
import { mutationResolvers } from '../resolvers/mutation.ts';
import { queryResolvers } from '../resolvers/query.ts';
import { reminderResolvers } from '../resolvers/reminders.ts';
import { settingsResolvers } from '../resolvers/settings.ts';
import { statsResolvers } from '../resolvers/stats.ts';
import { timelineResolvers } from '../resolvers/timeline.ts';
import { userResolvers } from '../resolvers/user.ts';
import { enumerationResolvers } from './enumerations.ts';
import { readTypeDefinitions } from './type-definitions.ts';

export function buildGatewaySchema(): GraphQLSchema {
  const typeDefs = parse(readTypeDefinitions());
  const resolvers = [
    enumerationResolvers(),
    { DateTime, Date: CalendarDate },
    materialResolvers,
    mutationResolvers,
    queryResolvers,
    reminderResolvers,
    settingsResolvers,
    statsResolvers,
    timelineResolvers,
    userResolvers,
  ];
  const schema = makeExecutableSchema({ typeDefs, resolvers });
  guardFields(schema);
  auditMutations(schema);
  return schema;
}

/**
 * Modifies `schema` in place: counts each field of an answer; refuses text in arguments that PostgreSQL cannot store in UTF-8, as REST
 * does, in literals and variables; and takes an ID in either case, so that it equals those of the services.
 */
function guardFields(schema: GraphQLSchema): void {
  for (const type of Object.values(schema.getTypeMap()).filter(isObjectType)) {
    if (type.name.startsWith('__')) continue;
    for (const field of Object.values(type.getFields())) {
      const resolve = field.resolve ?? resolvePlain;
      field.resolve = (parent, input: Record<string, unknown>, context: GatewayContext, info) => {
        const excess = context.budget.countField();
        if (excess !== undefined) return excess;
        for (const { name, type } of field.args)
          if (name in input) input[name] = readInput(name, type, input[name]);
        return resolve(parent, input, context, info);
      };
    }
  }
}

type Parent = { message?: Readonly<Record<string, unknown>> };

/** A field without a resolver has the same name in the message of its node, or in the parent if that is no node. */
const resolvePlain: GraphQLFieldResolver<Parent, GatewayContext> = (parent, input, context, info) =>
  parent.message ? parent.message[info.fieldName] : defaultFieldResolver(parent, input, context, info);

/** `name`: the argument or the innermost input field. @throws INVALID_REQUEST with it as the field. */
function readInput(name: string, type: GraphQLInputType, value: unknown): unknown {
  const ofValue = getNullableType(type);
  if (typeof value === 'string') {
    if (!isStorable(value)) throw invalidField(name, 'must not hold U+0000 or half of a surrogate pair.');
    return ofValue === GraphQLID ? (readUuid(value) ?? value) : value;
  }
  if (Array.isArray(value) && isListType(ofValue))
    return value.map((item) => readInput(name, ofValue.ofType, item));
  if (typeof value !== 'object' || value === null || !isInputObjectType(ofValue)) return value;
  const parts: Record<string, unknown> = { ...value };
  for (const [field, { type: ofField }] of Object.entries(ofValue.getFields()))
    if (field in parts) parts[field] = readInput(field, ofField, parts[field]);
  return parts;
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
});

const CalendarDate = new GraphQLScalarType<string, string>({
  name: 'Date',
  description: 'A calendar day as YYYY-MM-DD.',
  serialize: String,
  parseValue: requireDate,
});

/** Checks the form; scheduling checks that the day exists. */
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
