// Turns whatever goes wrong into errors of GraphQL: the API's codes, and nothing of our insides.
import type { ApolloServerPlugin } from '@apollo/server';
import { unwrapResolverError } from '@apollo/server/errors';
import { GraphQLError, type GraphQLFormattedError } from 'graphql';
import { ERROR_CATALOGUE, ServiceError, toServiceError } from '../services/platform/errors.ts';
import type { Logger } from '../services/platform/logger.ts';
import type { GatewayContext } from './context.ts';
import { describeRefusal } from './refusals.ts';

/** Where an argument is not simply the field over gRPC in camel case. */
const ARGUMENTS: Readonly<Record<string, string>> = {
  snooze_until_time: 'snoozeUntil',
  page_size: 'first',
  page_token: 'after',
  'window.time_zone': 'timeZone',
  'window.days': 'days',
  'window.as_of_time': 'asOf',
  update_mask: 'input',
};

/** For Apollo's `formatError`: `error` is what was thrown, with where in the document it was. */
export function formatError(formatted: GraphQLFormattedError, error: unknown): GraphQLFormattedError {
  const thrown = unwrapResolverError(error);
  const { locations, path } = formatted;
  const place = { ...(locations && { locations }), ...(path && { path }) };
  // What GraphQL itself refuses is the caller's: syntax, validation, the shape of a variable or of the request.
  const isRefusal = thrown instanceof GraphQLError && !isOurFault(formatted);
  if (isRefusal) {
    const { message, field } = describeRefusal(thrown);
    return { message, ...place, extensions: { code: 'INVALID_REQUEST', ...(field && { field }) } };
  }
  return { ...toGraphQLError(toServiceError(thrown)), ...place };
}

/** Logs what callers are not told, once per request and fault: one lost call may be missed by every row of a page. */
export function logFaults(logger: Logger): ApolloServerPlugin<GatewayContext> {
  return {
    async requestDidStart() {
      return {
        async didEncounterErrors({ errors, contextValue }) {
          logFaultsOf(logger, errors, contextValue.call.requestId);
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
    // One without a path is a refusal of the document.
    if (thrown instanceof GraphQLError && path === undefined) continue;
    const { reason, cause } = toServiceError(thrown);
    const details = { err: cause ?? thrown, path, requestId };
    if (reason === 'INTERNAL_ERROR') logger.error(details, 'resolver failed');
    else if (reason === 'UNAVAILABLE') logger.warn(details, 'service not available');
  }
}

/** The error as a caller sees it. */
export function toGraphQLError(error: ServiceError): GraphQLFormattedError {
  const isOurs = error.reason === 'INTERNAL_ERROR' || error.reason === 'UNAVAILABLE';
  const field = error.field && (ARGUMENTS[error.field] ?? toCamelCase(error.field));
  const message = error.field && field ? error.message.replaceAll(error.field, field) : error.message;
  return {
    message: isOurs ? ERROR_CATALOGUE[error.reason].text : message,
    extensions: {
      code: error.reason,
      ...(field && { field }),
      ...(error.retryAfterSeconds && { retryAfterSeconds: error.retryAfterSeconds }),
    },
  };
}

/** Of a resolver that answered what its type cannot hold, for example. */
function isOurFault({ extensions }: GraphQLFormattedError): boolean {
  return extensions?.code === 'INTERNAL_SERVER_ERROR';
}

function toCamelCase(field: string): string {
  return field.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** A document that is refused before it is run. */
export function refuseDocument(message: string): ServiceError {
  return new ServiceError('INVALID_REQUEST', { field: 'query', message });
}
