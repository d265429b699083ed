// Apollo, which speaks GraphQL over HTTP; what it runs has been inspected before (app.ts).
import { ApolloServer } from '@apollo/server';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginLandingPageDisabled,
} from '@apollo/server/plugin/disabled';
import { fastifyApolloDrainPlugin } from '@as-integrations/fastify';
import type { FastifyInstance } from 'fastify';
import type { GraphQLSchema } from 'graphql';
import type { Logger } from '../services/platform/logger.ts';
import type { Telemetry } from '../services/platform/ops/telemetry.ts';
import type { GatewayContext } from './context.ts';
import { formatError, logFaults } from './errors.ts';
import type { KnownDocuments } from './limits/known-documents.ts';
import { LIMITS } from './limits/limits.ts';
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
    // Nobody gets this far without a token.
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
    // Apollo's own indents it for people, who are shown it by GraphiQL.
    stringifyResult: (result) => JSON.stringify(result),
    logger: { debug() {}, info() {}, warn: (text) => logger.warn(text), error: (text) => logger.error(text) },
    plugins: [
      ApolloServerPluginLandingPageDisabled(),
      // No answer may be kept by anyone, and the plugin that works out for how long looks at every field.
      ApolloServerPluginCacheControlDisabled(),
      fastifyApolloDrainPlugin(app),
      logFaults(logger),
      measureOperations(telemetry.metrics),
    ],
  });
  await apollo.start();
  return apollo;
}
