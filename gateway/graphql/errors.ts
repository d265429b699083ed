// Converts all errors to GraphQL errors with the API's codes and without internal details.
import type { ApolloServerPlugin } from '@apollo/server';
import { unwrapResolverError } from '@apollo/server/errors';
import { GraphQLError, type GraphQLFormattedError } from 'graphql';
import {
  isErrorReason,
  messageNaming,
  type ServiceError,
  toServiceError,
} from '../../services/platform/errors.ts';
import type { Refusal } from '../../services/platform/http/request-log.ts';
import type { Logger } from '../../services/platform/logging/logger.ts';
import type { GatewayContext } from './context.ts';
import { describeRefusal } from './refusals.ts';

/** Arguments whose name is not the gRPC field in camelCase. */
const ARGUMENTS: Readonly<Record<string, string>> = {
  snooze_until_time: 'snoozeUntil',
  page_size: 'first',
  page_token: 'after',
  'window.time_zone': 'timeZone',
  'window.days': 'days',
  'window.as_of_time': 'asOf',
  update_mask: 'input',
  time_of_day: 'time',
  paused_until_time: 'pausedUntil',
};

/** For Apollo's `formatError`: `error` is the thrown error with its location in the document. */
export function formatError(formatted: GraphQLFormattedError, error: unknown): GraphQLFormattedError {
  const thrown = unwrapResolverError(error);
  const { locations, path } = formatted;
  const place = { ...(locations && { locations }), ...(path && { path }) };
  // Errors of GraphQL itself are the caller's: syntax, validation, variables, request format.
  const isRefusal = thrown instanceof GraphQLError && !isOurFault(formatted);
  if (isRefusal) {
    const { message, field } = describeRefusal(thrown);
    return { message, ...place, extensions: { code: 'INVALID_REQUEST', ...(field && { field }) } };
  }
  return { ...toGraphQLError(toServiceError(thrown)), ...place };
}

/** Logs internal errors once per request and cause, since one failed call can affect every row; notes the first for the log line. */
export function logFaults(logger: Logger): ApolloServerPlugin<GatewayContext> {
  return {
    async requestDidStart() {
      return {
        async didEncounterErrors({ errors, contextValue }) {
          logFaultsOf(logger, errors, contextValue.call.requestId);
        },
        async willSendResponse({ response: { body }, contextValue }) {
          const first = body.kind === 'single' ? body.singleResult.errors?.[0] : undefined;
          if (first !== undefined) contextValue.refused(refusalOf(first));
        },
      };
    },
  };
}

function logFaultsOf(logger: Logger, errors: readonly GraphQLError[], requestId: string): void {
  const faults = new Set<unknown>();
  for (const error of errors) {
    const thrown = unwrapResolverError(error);
    if (faults.has(thrown)) continue;
    faults.add(thrown);
    const { path } = error;
    // Errors without a path concern the document.
    if (thrown instanceof GraphQLError && path === undefined) continue;
    const { reason, cause } = toServiceError(thrown);
    const details = { err: cause ?? thrown, path, requestId };
    if (reason === 'INTERNAL_ERROR') logger.error(details, 'resolver failed');
    else if (reason === 'UNAVAILABLE') logger.warn(details, 'service not available');
  }
}

/** The error for the caller, with the place in the document if a syntax error caused it. */
export function toGraphQLError(error: ServiceError): GraphQLFormattedError {
  const field = error.field && (ARGUMENTS[error.field] ?? toCamelCase(error.field));
  const { locations } = error.cause instanceof GraphQLError ? error.cause : {};
  return {
    message: messageNaming(field, error),
    ...(locations && { locations }),
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

/** For example, if a resolver returns a value that does not fit its type. */
function isOurFault({ extensions }: GraphQLFormattedError): boolean {
  return extensions?.code === 'INTERNAL_SERVER_ERROR';
}

function toCamelCase(field: string): string {
  return field.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
