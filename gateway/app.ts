// The gateway as an application that is not listening yet: who may, what is refused at once, then Apollo.
import { ApolloServer } from '@apollo/server';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginLandingPageDisabled,
} from '@apollo/server/plugin/disabled';
import { fastifyApolloDrainPlugin, fastifyApolloHandler } from '@as-integrations/fastify';
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import type { GraphQLSchema } from 'graphql';
import type { Audit } from '../services/platform/audit.ts';
import { ServiceError } from '../services/platform/errors.ts';
import { registerShutdown } from '../services/platform/http-shutdown.ts';
import type { Logger } from '../services/platform/logger.ts';
import { observeHttp } from '../services/platform/ops/observe-http.ts';
import { NO_TELEMETRY, type Telemetry } from '../services/platform/ops/telemetry.ts';
import { requestIdOf } from '../services/platform/request-id.ts';
import { readTraceparent } from '../services/platform/trace-context.ts';
import { type GatewayToken, type Identity, identify } from './access/tokens.ts';
import type { Clients } from './clients.ts';
import { runCompiled } from './compiled-queries.ts';
import type { GatewayContext } from './context.ts';
import { registerDashboard } from './dashboard/dashboard.ts';
import { formatError, logFaults } from './errors.ts';
import { registerGraphiql } from './graphiql/graphiql.ts';
import { answerBadUrl, registerHttp } from './http.ts';
import { type Inspected, inspect, LIMITS } from './limits/inspect.ts';
import type { RequestedMutation } from './limits/requested-mutations.ts';
import { createLoaders, createSharedReads } from './loaders.ts';
import { measureOperations } from './measure-operations.ts';
import { viewsFor } from './views.ts';

declare module 'fastify' {
  interface FastifyRequest {
    identity: Identity | null;
    inspected: Inspected | null;
    /** Response keys of the mutations of which the audit knows the outcome. */
    settled: Set<string> | null;
  }
}

export type GatewayDependencies = {
  schema: GraphQLSchema;
  clients: Clients;
  tokens: readonly GatewayToken[];
  audit: Audit;
  logger: Logger;
  telemetry?: Telemetry;
};

export async function buildGateway(dependencies: GatewayDependencies): Promise<FastifyInstance> {
  const { schema, clients, tokens, audit, logger, telemetry = NO_TELEMETRY } = dependencies;
  const shared = createSharedReads(clients);
  const app = createFastify();
  observeHttp(app, 'gateway', telemetry);
  registerHttp(app, logger);
  registerShutdown(app);
  const apollo = await startApollo({ app, schema, logger, telemetry });
  const settle = (request: FastifyRequest, mutation: RequestedMutation, outcome: string) => {
    const { responseKey, action, targets } = mutation;
    request.settled?.add(responseKey);
    audit({ action, caller: callerOf(request), outcome, requestId: request.id, targets });
  };

  app.decorateRequest('identity', null);
  app.decorateRequest('inspected', null);
  app.decorateRequest('settled', null);
  app.post(
    '/graphql',
    {
      // Before the body is read: a stranger is refused before anything is done for them.
      onRequest: async (request) => {
        request.identity = identify(tokens, request.headers.authorization) ?? null;
        if (request.identity === null) {
          throw new ServiceError('UNAUTHORIZED', {
            message: 'A gateway token is required. Send it as "Authorization: Bearer <token>".',
          });
        }
      },
      preHandler: async (request) => {
        request.inspected = inspect(schema, request.body);
        request.settled = new Set();
        const refusal = request.inspected.refusal ?? refusalOfRole(request);
        if (refusal === undefined) return;
        for (const mutation of request.inspected.mutations) settle(request, mutation, refusal.reason);
        throw refusal;
      },
      // Validation, or the shape of a variable, may have stopped it before any resolver was asked.
      onResponse: async (request) => {
        for (const mutation of request.inspected?.mutations ?? []) {
          if (!request.settled?.has(mutation.responseKey)) settle(request, mutation, 'not executed');
        }
      },
    },
    fastifyApolloHandler(apollo, {
      context: async (request): Promise<GatewayContext> => {
        const identity = request.identity ?? { name: 'nobody', role: 'viewer' };
        const call = {
          requestId: request.id,
          traceparent: readTraceparent(request.headers.traceparent),
          caller: callerOf(request),
        };
        const views = viewsFor(request.inspected?.fields ?? new Set());
        const loaders = createLoaders(clients, { shared, views, call });
        return {
          identity,
          call,
          clients,
          loaders,
          settle: (mutation, outcome) => settle(request, mutation, outcome),
        };
      },
    }),
  );
  registerGraphiql(app);
  registerDashboard(app);
  return app;
}

function createFastify(): FastifyInstance {
  return Fastify({
    logger: false,
    bodyLimit: LIMITS.bodyBytes,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    frameworkErrors: answerBadUrl,
    requestTimeout: 10_000,
    http: { headersTimeout: 5_000, requestTimeout: 10_000, connectionsCheckingInterval: 1_000 },
    genReqId: ({ headers }) => requestIdOf(headers['x-request-id']),
  });
}

async function startApollo(parts: {
  app: FastifyInstance;
  schema: GraphQLSchema;
  logger: Logger;
  telemetry: Telemetry;
}) {
  const { app, schema, logger, telemetry } = parts;
  const apollo = new ApolloServer<GatewayContext>({
    schema,
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
      runCompiled(schema, logger),
      logFaults(logger),
      measureOperations(telemetry.metrics),
    ],
  });
  await apollo.start();
  return apollo;
}

/** A viewer's mutation is refused before it is run. */
function refusalOfRole({ identity, inspected }: FastifyRequest): ServiceError | undefined {
  if (identity?.role === 'operator' || inspected?.isMutation === false) return undefined;
  return new ServiceError('INSUFFICIENT_SCOPE', {
    message: 'A mutation needs a token with the role operator.',
  });
}

function callerOf({ identity }: FastifyRequest): string {
  return `gateway/${identity?.name}`;
}
