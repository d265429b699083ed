// Configures Apollo Server; app.ts has inspected every document before.
import { ApolloServer } from '@apollo/server';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginLandingPageDisabled,
} from '@apollo/server/plugin/disabled';
import { fastifyApolloDrainPlugin } from '@as-integrations/fastify';
import type { FastifyInstance } from 'fastify';
import type { GraphQLSchema } from 'graphql';
import type { Logger } from '../../services/platform/logging/logger.ts';
import type { Telemetry } from '../../services/platform/observability/telemetry.ts';
import type { KnownDocuments } from '../limits/known-documents.ts';
import { LIMITS } from '../limits/limits.ts';
import type { GatewayContext } from './context.ts';
import { formatError, logFaults } from './errors.ts';
import { measureOperations } from './measure-operations.ts';

export async function startApollo(parts: {
  app: FastifyInstance;
  schema: GraphQLSchema;
  documents: KnownDocuments;
  logger: Logger;
  telemetry: Telemetry;
}): Promise<ApolloServer<GatewayContext>> {
  const { app, schema, documents, logger, telemetry } = parts;
  const apollo = new ApolloServer<GatewayContext>({
    schema,
    documentStore: documents.store,
    // Requests without a token never get here.
    introspection: true,
    allowBatchedHttpRequests: false,
    csrfPrevention: true,
    persistedQueries: false,
    includeStacktraceInErrorResponses: false,
    stopOnTerminationSignals: false,
    maxRecursiveSelections: true,
    parseOptions: { maxTokens: LIMITS.tokens },
    validationOptions: { maxErrors: LIMITS.errors },
    executionOptions: { maxCoercionErrors: LIMITS.errors },
    formatError,
    // Apollo's default indents the JSON, which GraphiQL does by itself.
    stringifyResult: (result) => JSON.stringify(result),
    logger: { debug() {}, info() {}, warn: (text) => logger.warn(text), error: (text) => logger.error(text) },
    plugins: [
      ApolloServerPluginLandingPageDisabled(),
      // Responses are never cached, and the cache-control plugin visits every field.
      ApolloServerPluginCacheControlDisabled(),
      fastifyApolloDrainPlugin(app),
      logFaults(logger),
      measureOperations(telemetry.metrics),
    ],
  });
  await apollo.start();
  return apollo;
}
