// Builds the REST application: Fastify's settings, hooks and routes in the order that the checks require. Does not listen.
import compress from '@fastify/compress';
import cors, { type FastifyCorsOptions } from '@fastify/cors';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { registerAdmission } from '../platform/http/admission.ts';
import {
  type ErrorFormat,
  malformedOptions,
  registerJsonBody,
  registerMalformed,
} from '../platform/http/malformed.ts';
import { createRequestLog, type RequestLog, setCommonHeaders } from '../platform/http/request-log.ts';
import { registerShutdown, serverOptions } from '../platform/http/server.ts';
import type { Logger } from '../platform/logging/logger.ts';
import { observeHttp } from '../platform/observability/observe.ts';
import type { Telemetry } from '../platform/observability/telemetry.ts';
import type { Clients } from './clients.ts';
import { noSuchRoute, registerErrors, sendError, toErrorResponse, UNAVAILABLE_BODY } from './errors.ts';
import { type KeyRequests, registerKeyRequests } from './key-requests.ts';
import { type KeyVerifier, registerAuthentication } from './keys.ts';
import { registerDocsPage, registerDocument } from './openapi/document.ts';
import { registerRoutes } from './routes.ts';
import { type App, FORMATS, parseQuery } from './schemas.ts';
import { registerWriteLimit, type WriteLimiter } from './write-limit/limiter.ts';

type AppDependencies = {
  clients: Clients;
  verifier: KeyVerifier;
  keyRequests: KeyRequests;
  limiter: WriteLimiter;
  logger: Logger;
  docs: boolean;
  /** Default: 0. */
  drainMs?: number | undefined;
  /** Default: nobody. */
  trustedProxies?: readonly string[] | undefined;
  corsOrigins: ReadonlySet<string>;
  telemetry: Telemetry;
};

/** Requests in progress, and reads among them. Measured: twice as many did not increase throughput, but doubled the latency. */
const CAPACITY = 128;
const READ_CAPACITY = 96;

export async function buildApp(dependencies: AppDependencies): Promise<App> {
  const {
    clients,
    verifier,
    keyRequests,
    limiter,
    logger,
    docs,
    corsOrigins,
    drainMs,
    trustedProxies,
    telemetry,
  } = dependencies;
  const log = createRequestLog(logger, 'rest', ({ principal }) => ({
    userId: principal?.userId,
    apiKeyId: principal?.apiKeyId,
  }));
  const format: ErrorFormat = {
    toJson: (error) => JSON.stringify(toErrorResponse(error)),
    send: sendError,
    begin: (request, reply) => beginAnswer(log, request, reply),
    log,
  };
  const app = createFastify(format, trustedProxies);
  // JSON.stringify is faster than serializers compiled from the schemas, which already type the responses.
  app.setSerializerCompiler(() => (answer) => JSON.stringify(answer));
  observeHttp(app, 'rest', telemetry.metrics);
  registerJsonBody(app, 'remove');
  app.addHook('onRequest', async (request, reply) => format.begin(request, reply));
  if (corsOrigins.size > 0) await app.register(cors, corsOptions(corsOrigins));
  registerMalformed(app, format);
  // Runs before the body is parsed, so an unknown route is 404 whatever its body; the handler serves OPTIONS without CORS.
  app.addHook('onRequest', (request, _reply, done) => {
    done(request.is404 || lacksParameter(request) ? noSuchRoute(request) : undefined);
  });
  registerErrors(app, logger);
  registerShutdown(app, drainMs);
  if (docs) {
    await registerDocument(app);
    registerDocsPage(app);
  }
  await app.register(
    async (v1: App) => {
      // The order of the hooks is the order of the checks: 401, 403, 503 beyond the capacity, 429; then the body, 400.
      registerKeyRequests(v1, keyRequests);
      registerAuthentication(v1, verifier);
      registerAdmission(v1, {
        tier: 'rest',
        capacity: CAPACITY,
        readCapacity: READ_CAPACITY,
        keyOf: ({ principal }) => principal?.apiKeyId ?? 'nobody',
        refusal: UNAVAILABLE_BODY,
        metrics: telemetry.metrics,
      });
      registerWriteLimit(v1, limiter, telemetry.metrics);
      await v1.register(compress, { global: false });
      registerRoutes(v1, clients);
    },
    { prefix: '/v1' },
  );
  return app;
}

/** The router takes an empty segment of a path for a parameter. */
const lacksParameter = ({ params }: FastifyRequest) => Object.values(params as object).includes('');

/** Register before hooks that refuse, so that a page can read refusals, too. No credentials: keys are in headers. */
const corsOptions = (origins: ReadonlySet<string>): FastifyCorsOptions => ({
  origin: (origin, answer) => answer(null, origin !== undefined && origins.has(origin)),
  methods: 'GET, HEAD, POST',
  allowedHeaders:
    'Authorization, Content-Type, Idempotency-Key, X-Request-Id, X-Service-API-Key, traceparent',
  exposedHeaders: 'Idempotent-Replayed, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id',
  // Browsers keep the answer to a preflight for at most two hours.
  maxAge: 7200,
  // Its own refusal would not have the documented error format.
  strictPreflight: false,
});

/** Runs first for every request, even if no hook runs. */
function beginAnswer(log: RequestLog, request: FastifyRequest, reply: FastifyReply): void {
  setCommonHeaders(request, reply);
  // The pages of the documentation override this.
  reply.header('cache-control', 'no-store');
  log.begin(request, reply);
}

const MAX_HEAD_BYTES = 16 * 1024;
const MAX_BODY_BYTES = 256 * 1024;

function createFastify(format: ErrorFormat, trustedProxies: readonly string[] | undefined): App {
  return Fastify({
    ...serverOptions(trustedProxies),
    ...malformedOptions(format),
    bodyLimit: MAX_BODY_BYTES,
    routerOptions: { maxParamLength: MAX_HEAD_BYTES, querystringParser: parseQuery },
    ajv: {
      customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false },
      onCreate: (ajv) => {
        for (const [name, validate] of Object.entries(FORMATS)) ajv.addFormat(name, validate);
      },
    },
  }).withTypeProvider<TypeBoxTypeProvider>();
}
