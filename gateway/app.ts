// Builds the gateway application: authentication, load shedding, inspection of documents, Apollo. Does not listen.

import { fastifyApolloHandler } from '@as-integrations/fastify';
import compress from '@fastify/compress';
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import type { GraphQLSchema } from 'graphql';
import { ServiceError } from '../services/platform/errors.ts';
import { registerAdmission } from '../services/platform/http/admission.ts';
import { malformedOptions } from '../services/platform/http/malformed.ts';
import { noteRefusal } from '../services/platform/http/request-log.ts';
import { registerShutdown, SERVER_OPTIONS } from '../services/platform/http/server.ts';
import type { Audit, Logger } from '../services/platform/logging/logger.ts';
import { observeHttp } from '../services/platform/observability/observe.ts';
import { createTelemetry, type Telemetry } from '../services/platform/observability/telemetry.ts';
import { readTraceparent } from '../services/platform/observability/tracing.ts';
import { createCallerIdentifier } from './access/callers.ts';
import { registerOidcRoutes } from './access/oidc/routes.ts';
import type { SignIn } from './access/oidc/sign-in.ts';
import { createEventRecorder } from './access/recorded-events.ts';
import type { GatewayToken, Identity } from './access/tokens.ts';
import type { Clients } from './clients.ts';
import { registerDashboard } from './dashboard/dashboard.ts';
import { registerGraphiql } from './graphiql/graphiql.ts';
import { startApollo } from './graphql/apollo.ts';
import type { GatewayContext } from './graphql/context.ts';
import { responseTypeOf } from './graphql/response-type.ts';
import { createGatewayLog, errorFormat, registerHttp, UNAVAILABLE_BODY } from './http.ts';
import { type Inspected, inspect } from './limits/inspect.ts';
import { createKnownDocuments } from './limits/known-documents.ts';
import { createLanes } from './limits/lanes.ts';
import { LIMITS } from './limits/limits.ts';
import { createRequestBudget } from './limits/request-budget.ts';
import type { RequestedMutation } from './limits/requested-mutations.ts';
import { createLoaders } from './loaders.ts';
import { viewsFor } from './reads/views.ts';

declare module 'fastify' {
  interface FastifyRequest {
    identity: Identity | null;
    inspected: Inspected | null;
    /** Response keys of mutations whose outcome is in the audit log. */
    settled: Set<string> | null;
  }
}

type GatewayDependencies = {
  schema: GraphQLSchema;
  clients: Clients;
  tokens: readonly GatewayToken[];
  /** undefined: people sign in with gateway tokens only. */
  signIn?: SignIn | undefined;
  audit: Audit;
  logger: Logger;
  /** Default: 0. */
  drainMs?: number | undefined;
  telemetry?: Telemetry;
};

export async function buildGateway(dependencies: GatewayDependencies): Promise<FastifyInstance> {
  const {
    schema,
    clients,
    tokens,
    signIn,
    audit,
    logger,
    drainMs,
    telemetry = createTelemetry(),
  } = dependencies;
  const identifyCaller = createCallerIdentifier(tokens, signIn?.verifier);
  const documents = createKnownDocuments();
  const recordEvent = createEventRecorder(clients.userEvents, logger);
  const lanesOf = createLanes();
  const format = errorFormat(createGatewayLog(logger));
  const app: FastifyInstance = Fastify({
    ...SERVER_OPTIONS,
    ...malformedOptions(format),
    bodyLimit: LIMITS.bodyBytes,
  });
  observeHttp(app, 'gateway', telemetry.metrics);
  registerHttp(app, logger, format);
  registerShutdown(app, drainMs);
  const apollo = await startApollo({ app, schema, documents, logger, telemetry });
  const settle = (request: FastifyRequest, mutation: RequestedMutation, outcome: string) => {
    const { responseKey, action, targets } = mutation;
    request.settled?.add(responseKey);
    audit({ action, caller: callerOf(request), outcome, requestId: request.id, targets });
  };

  app.decorateRequest('identity', null);
  app.decorateRequest('inspected', null);
  app.decorateRequest('settled', null);
  await app.register(async (graphql) => {
    await graphql.register(compress, {
      encodings: ['gzip'],
      globalDecompression: false,
      zlibOptions: { level: 1 },
    });
    graphql.addHook('onRequest', async (request) => {
      // Runs before the body is read, so that anonymous requests are refused before any work.
      request.identity = await identifyCaller(request.headers.authorization);
    });
    registerAdmission(graphql, {
      tier: 'gateway',
      capacity: LIMITS.requestsAtOnce,
      keyOf: ({ identity }) => identity?.name ?? 'nobody',
      refusal: UNAVAILABLE_BODY,
      metrics: telemetry.metrics,
    });
    graphql.post(
      '/graphql',
      {
        preHandler: async (request) => {
          acceptOneType(request);
          request.inspected = inspect(schema, documents, request.body);
          request.settled = new Set();
          const refusal = request.inspected.refusal ?? refusalOfRole(request);
          if (refusal === undefined) return;
          for (const mutation of request.inspected.mutations) settle(request, mutation, refusal.reason);
          throw refusal;
        },
        // Validation or variable coercion can fail before any resolver runs.
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
          const { inspected } = request;
          const budget = createRequestBudget({
            call,
            lanes: lanesOf(identity.name),
            cost: inspected?.measured.cost ?? 0,
            isAbandoned: () => request.raw.socket.destroyed,
            // A mutation always returns its result, even after the time limit.
            endMs: inspected?.isMutation === false ? performance.now() + LIMITS.queryMs : Infinity,
            nowMs: () => performance.now(),
          });
          return {
            identity,
            call,
            beginTime: new Date(),
            clients,
            budget,
            loaders: createLoaders(clients, budget),
            views: viewsFor(inspected?.fields ?? new Set()),
            refused: (refusal) => noteRefusal(request, refusal),
            record: (mutation) => recordEvent(mutation, call),
            logger,
            settle: (mutation, outcome) => settle(request, mutation, outcome),
          };
        },
      }),
    );
  });
  registerOidcRoutes(app, signIn);
  registerGraphiql(app);
  registerDashboard(app);
  return app;
}

/** Leaves Apollo one type: it checks Accept only after a mutation has run, and would then respond with 406. */
function acceptOneType({ headers }: FastifyRequest): void {
  headers.accept = responseTypeOf(headers.accept);
}

/** Refuses mutations of viewers before execution. */
function refusalOfRole({ identity, inspected }: FastifyRequest): ServiceError | undefined {
  if (identity?.role === 'operator' || inspected?.isMutation === false) return undefined;
  return new ServiceError('INSUFFICIENT_SCOPE', {
    message: 'A mutation needs a token with the role operator.',
  });
}

function callerOf({ identity }: FastifyRequest): string {
  return `gateway/${identity?.name}`;
}
