// The gateway's application: authentication, load shedding, documents, Apollo; and its start with clients and a port.
import { fastifyApolloHandler } from '@as-integrations/fastify';
import compress from '@fastify/compress';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { GraphQLSchema, OperationDefinitionNode } from 'graphql';
import { ServiceError, toServiceError } from '../services/platform/errors.ts';
import type { LocalServers } from '../services/platform/grpc/client.ts';
import { addPeerChecks } from '../services/platform/grpc/peer-checks.ts';
import { registerAdmission } from '../services/platform/http/admission.ts';
import { malformedOptions } from '../services/platform/http/malformed.ts';
import {
  type HttpServer,
  registerShutdown,
  serverOptions,
  startHttp,
} from '../services/platform/http/server.ts';
import type { Audit, Logger } from '../services/platform/logging/logger.ts';
import { observeHttp } from '../services/platform/observability/observe.ts';
import { createTelemetry, type Telemetry } from '../services/platform/observability/telemetry.ts';
import { withoutKeys } from '../services/platform/redaction.ts';
import { createEventRecorder } from './access/audit.ts';
import { registerOidcRoutes } from './access/oidc/routes.ts';
import { createSignIn, looksLikeJwt, type OidcVerifier, type SignIn } from './access/oidc/verifier.ts';
import { bearerOf, type GatewayToken, type Identity, identify } from './access/tokens.ts';
import { startApollo } from './apollo.ts';
import { LIMITS } from './budget.ts';
import { type Clients, closeClients, createClients } from './clients.ts';
import type { GatewayConfig } from './config.ts';
import { callerOf, createContextOf, type Targets } from './context.ts';
import { registerDashboard } from './dashboard/dashboard.ts';
import { createDocuments, readBody, selectOperation } from './documents.ts';
import { formatError } from './errors.ts';
import { registerExports } from './exports/routes.ts';
import { registerGraphiql } from './graphiql/graphiql.ts';
import { errorFormat, registerHttp, responseTypeOf, sendErrors, UNAVAILABLE_BODY } from './http.ts';
import { buildGatewaySchema } from './schema/schema.ts';

declare module 'fastify' {
  interface FastifyRequest {
    identity: Identity | null;
    /** The operation to execute, of a valid document. */
    operation: OperationDefinitionNode | null;
    isAudited: boolean;
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
  /** Default: nobody. */
  trustedProxies?: readonly string[] | undefined;
  telemetry: Telemetry;
};

export async function buildGateway(dependencies: GatewayDependencies): Promise<FastifyInstance> {
  const { schema, clients, tokens, signIn, audit, logger, drainMs, trustedProxies, telemetry } = dependencies;
  const identifyCaller = createCallerIdentifier(tokens, signIn?.verifier);
  const documents = createDocuments(schema);
  const format = errorFormat(logger);
  const app: FastifyInstance = Fastify({
    ...serverOptions(trustedProxies),
    ...malformedOptions(format),
    bodyLimit: LIMITS.bodyBytes,
  });
  observeHttp(app, 'gateway', telemetry.metrics);
  registerHttp(app, logger, format);
  registerShutdown(app, drainMs);
  const apollo = await startApollo({
    schema,
    documentStore: documents.store,
    logger,
    metrics: telemetry.metrics,
  });
  const writeAudit = (request: FastifyRequest, action: string, outcome: string, targets: Targets) => {
    request.isAudited = true;
    audit({ action, caller: callerOf(request), outcome, requestId: request.id, targets });
  };
  /** Writes one line for a refused document with a mutation, with the name of that operation. */
  const auditWhole = (
    request: FastifyRequest,
    operations: readonly OperationDefinitionNode[],
    outcome: string,
  ) => {
    const mutation = operations.find(({ operation }) => operation === 'mutation');
    if (mutation !== undefined)
      writeAudit(request, withoutKeys(mutation.name?.value ?? 'mutation').slice(0, 64), outcome, {});
  };

  const recordEvent = createEventRecorder(clients.userEvents, logger);
  const contextOf = createContextOf({ clients, logger, recordEvent, writeAudit });
  app.decorateRequest('identity', null);
  app.decorateRequest('operation', null);
  app.decorateRequest('isAudited', false);
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
      keyOf: nameOf,
      refusal: UNAVAILABLE_BODY,
      metrics: telemetry.metrics,
    });
    graphql.post(
      '/graphql',
      {
        preHandler: async (request, reply) => {
          // Leaves Apollo one type: it checks Accept only after a mutation has run, and would then respond with 406.
          request.headers.accept = responseTypeOf(request.headers.accept);
          const body = readBody(request.body);
          const stop = telemetry.metrics.time('srs_graphql_operation_duration_seconds');
          const { operations, errors } = await documents.prepare(nameOf(request), body.query, () =>
            endOf(reply),
          );
          const named = operations.filter(
            ({ name }) => body.operationName === undefined || name?.value === body.operationName,
          );
          const asked = named.length > 0 ? named : operations;
          if (errors.length > 0) {
            stop({ type: 'invalid', outcome: 'refused' });
            auditWhole(request, asked, 'INVALID_REQUEST');
            return sendErrors(
              reply,
              errors.map((error) => formatError(error.toJSON(), error)),
              400,
            );
          }
          try {
            request.operation = selectOperation(named);
            requireRole(request);
          } catch (error) {
            stop({ type: request.operation?.operation ?? 'invalid', outcome: 'refused' });
            auditWhole(request, asked, toServiceError(error).reason);
            throw error;
          }
          // The deletion of a user's data can take longer than a connection may otherwise be silent.
          if (request.operation.operation === 'mutation') request.raw.setTimeout(MUTATION_SILENCE_MS);
        },
        // Variables can be refused before any resolver runs.
        onResponse: async (request) => {
          if (request.operation !== null && !request.isAudited)
            auditWhole(request, [request.operation], 'not executed');
        },
      },
      fastifyApolloHandler(apollo, { context: async (request) => contextOf(request) }),
    );
    registerExports(graphql, contextOf);
  });
  registerOidcRoutes(app, signIn);
  registerGraphiql(app);
  registerDashboard(app);
  return app;
}

/** Longer than the calls of any mutation together. */
const MUTATION_SILENCE_MS = 150_000;

/** What a request counts against. */
const nameOf = ({ identity }: FastifyRequest): string => identity?.name ?? 'nobody';

/** @throws INSUFFICIENT_SCOPE for the mutation of a viewer. */
function requireRole({ identity, operation }: FastifyRequest): void {
  if (identity?.role === 'operator' || operation?.operation === 'query') return;
  throw new ServiceError('INSUFFICIENT_SCOPE', {
    message: 'A mutation needs a token with the role operator.',
  });
}

/** Aborts when the client disconnects, or when the time limit of a query has passed. */
function endOf(reply: FastifyReply): AbortSignal {
  const disconnected = new AbortController();
  reply.raw.once('close', () => disconnected.abort());
  return AbortSignal.any([disconnected.signal, AbortSignal.timeout(LIMITS.queryMs)]);
}

/**
 * Identifies a caller by a gateway token, or by a token of the OpenID provider; `verifier`: undefined without OIDC_ISSUER.
 * The returned function throws ServiceError UNAUTHORIZED for anybody unknown, and what `verifier` throws.
 */
function createCallerIdentifier(tokens: readonly GatewayToken[], verifier?: OidcVerifier) {
  return async (authorization: string | undefined): Promise<Identity> => {
    const sent = bearerOf(authorization);
    const identity = identify(tokens, sent);
    if (identity !== undefined) return identity;
    if (verifier !== undefined && looksLikeJwt(sent)) return verifier.identify(sent);
    throw new ServiceError('UNAUTHORIZED', {
      message: 'A gateway token is required. Send it as "Authorization: Bearer <token>".',
    });
  };
}

/** Starts listening. @throws Error that names the address if the port is in use; then nothing is left open. */
export async function startGateway(options: {
  config: GatewayConfig;
  logger: Logger;
  audit: Audit;
  telemetry?: Telemetry;
  /** Services that run in this process; calls to them bypass the network. */
  locals?: LocalServers;
}): Promise<HttpServer> {
  const { config, logger, audit, telemetry = createTelemetry(), locals } = options;
  const schema = buildGatewaySchema();
  const clients = createClients(config, telemetry, locals);
  const signIn = config.oidc && createSignIn(config.oidc);
  const closePeerChecks = addPeerChecks('gateway', config, telemetry);
  const closeParts = () => {
    closePeerChecks();
    closeClients(clients);
  };
  const parts = { schema, clients, signIn, audit, logger, telemetry };
  return startHttp(() => buildGateway({ ...config, ...parts }), config, closeParts);
}
