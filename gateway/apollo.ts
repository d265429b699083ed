// Configures Apollo Server, which executes documents that documents.ts has validated; logs and measures the outcome.
import { ApolloServer, type ApolloServerPlugin } from '@apollo/server';
import { unwrapResolverError } from '@apollo/server/errors';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginLandingPageDisabled,
  ApolloServerPluginSchemaReportingDisabled,
  ApolloServerPluginUsageReportingDisabled,
} from '@apollo/server/plugin/disabled';
import { GraphQLError, type GraphQLSchema } from 'graphql';
import { toServiceError } from '../services/platform/errors.ts';
import type { Logger } from '../services/platform/logging/logger.ts';
import type { Metrics } from '../services/platform/observability/metrics.ts';
import type { GatewayContext } from './context.ts';
import { DOCUMENT_LIMITS, type DocumentStore } from './documents.ts';
import { formatError, isOfArgument, refusalOf } from './errors.ts';

export async function startApollo(parts: {
  schema: GraphQLSchema;
  documentStore: DocumentStore;
  logger: Logger;
  metrics: Metrics;
}): Promise<ApolloServer<GatewayContext>> {
  const { schema, documentStore, logger, metrics } = parts;
  const apollo = new ApolloServer<GatewayContext>({
    schema,
    documentStore,
    // Requests without a token never get here.
    introspection: true,
    allowBatchedHttpRequests: false,
    csrfPrevention: true,
    persistedQueries: false,
    includeStacktraceInErrorResponses: false,
    stopOnTerminationSignals: false,
    executionOptions: { maxCoercionErrors: DOCUMENT_LIMITS.errors },
    formatError,
    logger: { debug() {}, info() {}, warn: (text) => logger.warn(text), error: (text) => logger.error(text) },
    plugins: [
      ApolloServerPluginLandingPageDisabled(),
      // Responses are never cached, and the cache-control plugin visits every field.
      ApolloServerPluginCacheControlDisabled(),
      // With APOLLO_KEY in the environment, Apollo would send the schema and each operation to its maker.
      ApolloServerPluginSchemaReportingDisabled(),
      ApolloServerPluginUsageReportingDisabled(),
      watchOperations(logger, metrics),
    ],
  });
  await apollo.start();
  return apollo;
}

/** Of one response: a list whose rows all fail would have an error for each. */
const MAX_ERRORS = 100;

/** Logs faults, bounds the errors of an answer, says in the request's log line what the first one is, and measures by type and outcome. */
function watchOperations(logger: Logger, metrics: Metrics): ApolloServerPlugin<GatewayContext> {
  return {
    async requestDidStart() {
      const stop = metrics.time('srs_graphql_operation_duration_seconds');
      return {
        async didEncounterErrors({ errors, contextValue }) {
          logFaults(logger, errors, contextValue.call.requestId);
        },
        async willSendResponse({ operation, response: { body }, contextValue }) {
          if (body.kind !== 'single') return;
          const { errors = [] } = body.singleResult;
          const refusals = errors.map(refusalOf);
          if (refusals[0] !== undefined) contextValue.refused(refusals[0]);
          if (errors.length > MAX_ERRORS) body.singleResult.errors = errors.slice(0, MAX_ERRORS);
          const isFault = refusals.some(
            ({ reason }) => reason === 'INTERNAL_ERROR' || reason === 'UNAVAILABLE',
          );
          const outcome = isFault ? 'failed' : errors.length > 0 ? 'refused' : 'ok';
          stop({ type: operation?.operation ?? 'invalid', outcome });
        },
      };
    },
  };
}

/** Once per request and cause, since one failed call can affect every row. */
function logFaults(logger: Logger, errors: readonly GraphQLError[], requestId: string): void {
  const faults = new Set<unknown>();
  for (const error of errors) {
    const thrown = unwrapResolverError(error);
    if (faults.has(thrown)) continue;
    faults.add(thrown);
    const { path } = error;
    // Errors without a path concern the document; those of an argument quote what was sent.
    if (thrown instanceof GraphQLError && (path === undefined || isOfArgument(thrown))) continue;
    const { reason, cause } = toServiceError(thrown);
    const details = { err: cause ?? thrown, path, requestId };
    // Without a cause it comes from a service, which has logged it.
    if (reason === 'INTERNAL_ERROR' && cause !== undefined) logger.error(details, 'resolver failed');
    else if (reason === 'UNAVAILABLE') logger.warn(details, 'service not available');
  }
}
