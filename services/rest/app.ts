// Builds the REST application: hooks and routes in the order that the checks require. Does not listen.
import compress from '@fastify/compress';
import cors, { type FastifyCorsOptions } from '@fastify/cors';
import { registerAdmission } from '../platform/http/admission.ts';
import { registerJsonBody } from '../platform/http/json.ts';
import { type ErrorFormat, registerMalformed } from '../platform/http/malformed.ts';
import { registerShutdown } from '../platform/http/server.ts';
import type { Logger } from '../platform/logging/logger.ts';
import { observeHttp } from '../platform/observability/observe.ts';
import type { Telemetry } from '../platform/observability/telemetry.ts';
import type { Clients } from './clients.ts';
import { type App, createFastify } from './fastify.ts';
import { registerAuthentication } from './hooks/authenticate.ts';
import { registerHeadBounds } from './hooks/bad-heads.ts';
import { registerErrors, sendError, toErrorResponse, UNAVAILABLE_BODY } from './hooks/errors.ts';
import { beginAnswer, createRestLog, registerRequestLog } from './hooks/request-log.ts';
import { registerWriteLimit } from './hooks/write-limit.ts';
import type { KeyVerifier } from './key-verifier.ts';
import { registerDocument } from './openapi/document.ts';
import { registerDocsPage } from './openapi/page/page.ts';
import { registerMaterials } from './routes/v1/materials.ts';
import { registerMe } from './routes/v1/me.ts';
import { registerReviews } from './routes/v1/reviews.ts';
import { registerSnoozes } from './routes/v1/snoozes.ts';
import type { WriteLimiter } from './write-limit/write-limiter.ts';

type AppDependencies = {
  clients: Clients;
  verifier: KeyVerifier;
  limiter: WriteLimiter;
  logger: Logger;
  docs: boolean;
  /** Default: 0. */
  drainMs?: number | undefined;
  corsOrigins: ReadonlySet<string>;
  telemetry: Telemetry;
};

/** Requests in progress, and reads among them. Measured: twice as many did not increase throughput, but doubled the latency. */
const CAPACITY = 128;
const READ_CAPACITY = 96;

export async function buildApp(dependencies: AppDependencies): Promise<App> {
  const { clients, verifier, limiter, logger, docs, corsOrigins, drainMs, telemetry } = dependencies;
  const log = createRestLog(logger);
  const format: ErrorFormat = {
    toJson: (error) => JSON.stringify(toErrorResponse(error)),
    send: sendError,
    begin: (request, reply) => beginAnswer(log, request, reply),
    log,
  };
  const app = createFastify(format);
  // JSON.stringify is faster than serializers compiled from the schemas, which already type the responses.
  app.setSerializerCompiler(() => (answer) => JSON.stringify(answer));
  observeHttp(app, 'rest', telemetry.metrics);
  registerJsonBody(app, 'remove');
  registerRequestLog(app, log);
  if (corsOrigins.size > 0) await app.register(cors, corsOptions(corsOrigins));
  registerMalformed(app, format);
  registerHeadBounds(app);
  registerErrors(app, logger);
  registerShutdown(app, drainMs);
  if (docs) {
    await registerDocument(app);
    registerDocsPage(app);
  }
  await app.register(
    async (v1: App) => {
      // The order of the hooks is the order of the checks: 401, 403, 503 beyond the capacity, 429; then the body, 400.
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
      registerMe(v1);
      registerMaterials(v1, clients);
      registerReviews(v1, clients);
      registerSnoozes(v1, clients);
    },
    { prefix: '/v1' },
  );
  return app;
}

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
