// Converts all errors to GraphQL errors with the API's codes and without internal details.
import { unwrapResolverError } from '@apollo/server/errors';
import { GraphQLError, type GraphQLFormattedError, Kind } from 'graphql';
import {
  isErrorReason,
  messageNaming,
  type ServiceError,
  toServiceError,
} from '../services/platform/errors.ts';
import type { Refusal } from '../services/platform/http/request-log.ts';
import { withoutKeys } from '../services/platform/redaction.ts';
import { camelCase } from '../services/platform/text.ts';

/** Arguments whose name is not the gRPC field in camelCase. */
const ARGUMENTS: Readonly<Record<string, string>> = {
  snooze_until_time: 'snoozeUntil',
  page_size: 'first',
  page_token: 'after',
  'window.time_zone': 'timeZone',
  'window.days': 'days',
  'window.as_of_time': 'asOf',
  as_of_time: 'asOf',
  update_mask: 'input',
  time_of_day: 'time',
  paused_until_time: 'pausedUntil',
  expire_time: 'expiresAt',
  forward: 'forwardSeconds',
  at_time: 'at',
};

const MAX_CHARACTERS = 1000;

/** For Apollo's `formatError`: `error` is the thrown error with its location in the document. */
export function formatError(formatted: GraphQLFormattedError, error: unknown): GraphQLFormattedError {
  const thrown = unwrapResolverError(error);
  const { locations, path } = formatted;
  const place = { ...(locations && { locations }), ...(path && { path }) };
  // Errors of GraphQL itself are the caller's: syntax, validation, variables, arguments, request format.
  if (!(thrown instanceof GraphQLError) || (isOurFault(formatted) && !isOfArgument(thrown)))
    return { ...toGraphQLError(toServiceError(thrown)), ...place };
  // These messages quote the input. A key that was pasted in the wrong place must not be repeated.
  const message = withoutKeys(thrown.message).slice(0, MAX_CHARACTERS).toWellFormed();
  // An error about the document as a whole has no nodes.
  const field = thrown.nodes === undefined ? 'query' : namedField(thrown.message);
  return { message, ...place, extensions: { code: 'INVALID_REQUEST', ...(field && { field }) } };
}

/** The argument at fault, or the innermost field at fault in a variable. */
function namedField(message: string): string | undefined {
  const [, name] = /^(?:Variable "\$|Argument ")(\w+)"/.exec(message) ?? [];
  const [, path] = / at "([\w.[\]]+)"; [^"]*/.exec(message) ?? [];
  return /(\w+)(?:\[\d+\])*$/.exec(path ?? '')?.[1] ?? name;
}

/** The error for the caller. */
export function toGraphQLError(error: ServiceError): GraphQLFormattedError {
  const field = error.field && argumentOf(error.field);
  return {
    message: messageNaming(field, error, reword),
    extensions: {
      code: error.reason,
      ...(field && { field }),
      ...(error.retryAfterSeconds && { retryAfterSeconds: error.retryAfterSeconds }),
    },
  };
}

/** The error for the log. */
export function refusalOf({ extensions }: GraphQLFormattedError): Refusal {
  const { code, field } = extensions ?? {};
  return {
    reason: typeof code === 'string' && isErrorReason(code) ? code : 'INTERNAL_ERROR',
    field: typeof field === 'string' ? field : undefined,
  };
}

/**
 * Whether GraphQL refused an argument when it came to the field: a variable that may be null by its declaration is null, and the
 * argument may not. Such an error is at the value; one of a resolver is at the field.
 */
export function isOfArgument({ nodes }: GraphQLError): boolean {
  return nodes?.every(({ kind }) => kind !== Kind.FIELD) ?? false;
}

/** For example, if a resolver returns a value that does not fit its type. */
function isOurFault({ extensions }: GraphQLFormattedError): boolean {
  return extensions?.code === 'INTERNAL_SERVER_ERROR';
}

/** Prefixes that values have in the protocol alone: CHANNEL_EMAIL is EMAIL here. */
const PREFIX =
  /\b(?:CHANNEL|MATERIAL_(?:ORDER|STATE|TYPE)|PLAN|SNOOZE_PRESET|USER_EVENT_KIND|WEEKDAY)_(?=[A-Z])/g;
const FIELD = /\b[a-z]+(?:_[a-z]+)+\b/g;

/** Replaces names of the protocol. A problem contains no text of a caller, which could have such names. */
function reword(problem: string): string {
  return problem.replace(PREFIX, '').replace(FIELD, argumentOf);
}

function argumentOf(field: string): string {
  return ARGUMENTS[field] ?? camelCase(field);
}
