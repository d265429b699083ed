// The gateway as an application that is not listening yet: who may, what is refused at once, then Apollo.
import { fastifyApolloHandler } from '@as-integrations/fastify';
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import type { GraphQLSchema } from 'graphql';
import type { Audit } from '../services/platform/audit.ts';
import { ServiceError } from '../services/platform/errors.ts';
import { registerAdmission } from '../services/platform/http-admission.ts';
import { answerBadHttp } from '../services/platform/http-bad.ts';
import { boundConnections } from '../services/platform/http-connections.ts';
import { registerShutdown } from '../services/platform/http-shutdown.ts';
import { boundUnreadAnswers } from '../services/platform/http-unread.ts';
import type { Logger } from '../services/platform/logger.ts';
import { observeHttp } from '../services/platform/ops/observe-http.ts';
import { NO_TELEMETRY, type Telemetry } from '../services/platform/ops/telemetry.ts';
import { requestIdOf } from '../services/platform/request-id.ts';
import { readTraceparent } from '../services/platform/trace-context.ts';
import { type GatewayToken, type Identity, identify } from './access/tokens.ts';
import { startApollo } from './apollo.ts';
import type { Clients } from './clients.ts';
import type { GatewayContext } from './context.ts';
import { registerDashboard } from './dashboard/dashboard.ts';
import { registerGraphiql } from './graphiql/graphiql.ts';
import { answerBadUrl, registerHttp, toJson, UNAVAILABLE_BODY } from './http.ts';
import { type Inspected, inspect } from './limits/inspect.ts';
import { createKnownDocuments } from './limits/known-documents.ts';
import { createLanes } from './limits/lanes.ts';
import { LIMITS } from './limits/limits.ts';
import { createRequestBudget } from './limits/request-budget.ts';
import type { RequestedMutation } from './limits/requested-mutations.ts';
import { createSharedReads } from './shared-reads.ts';
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
  const documents = createKnownDocuments();
  const lanesOf = createLanes();
  const app = createFastify();
  const connections = boundConnections(app);
  observeHttp(app, 'gateway', telemetry);
  registerHttp(app, logger);
  boundUnreadAnswers(app, { holderOf, refusal: UNAVAILABLE_BODY });
  registerShutdown(app);
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
    graphql.addHook('onRequest', async (request) => {
      // Before the body is read: a stranger is refused before anything is done for them.
      request.identity = identify(tokens, request.headers.authorization) ?? null;
      if (request.identity === null) {
        throw new ServiceError('UNAUTHORIZED', {
          message: 'A gateway token is required. Send it as "Authorization: Bearer <token>".',
        });
      }
    });
    registerAdmission(graphql, {
      tier: 'gateway',
      room: LIMITS.requestsAtOnce,
      holderOf,
      connections,
      refusal: UNAVAILABLE_BODY,
      metrics: telemetry.metrics,
    });
    graphql.post(
      '/graphql',
      {
        preHandler: async (request) => {
          acceptJson(request);
          request.inspected = inspect(schema, documents, request.body);
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
          const { inspected } = request;
          return {
            identity,
            call,
            clients,
            shared,
            budget: createRequestBudget({
              call,
              lanes: lanesOf(identity.name),
              cost: inspected?.measured.cost ?? 0,
              isAbandoned: () => request.raw.socket.destroyed,
              // What was changed is answered, however long it took.
              endMs: inspected?.isMutation === false ? performance.now() + LIMITS.queryMs : Infinity,
              nowMs: () => performance.now(),
            }),
            views: viewsFor(inspected?.fields ?? new Set()),
            settle: (mutation, outcome) => settle(request, mutation, outcome),
          };
        },
      }),
    );
  });
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
    clientErrorHandler: answerBadHttp(toJson),
    requestTimeout: 10_000,
    http: { headersTimeout: 5_000, requestTimeout: 10_000, connectionsCheckingInterval: 1_000 },
    genReqId: ({ headers }) => requestIdOf(headers['x-request-id']),
  });
}

/** Whose share a request counts in; all who have shown no token are one. */
const holderOf = ({ identity }: FastifyRequest): string => identity?.name ?? 'stranger';

/**
 * Apollo looks at Accept only after a mutation was done, and would then hide its answer behind a 406. In front, so that
 * nothing that was sent can take it in.
 */
function acceptJson({ headers }: FastifyRequest): void {
  if (headers.accept !== undefined) headers.accept = `application/json;q=0.001, ${headers.accept}`;
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
