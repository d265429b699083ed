// Builds the REST application: hooks and routes in the order that the checks require. Does not listen.
import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../platform/errors.ts';
import { registerAdmission } from '../platform/http/admission.ts';
import { createAnonymousPacer, paceAnonymousCallers } from '../platform/http/anonymous-callers.ts';
import { boundConnections } from '../platform/http/connections.ts';
import { registerCompression } from '../platform/http/content/compression.ts';
import { registerJsonBody } from '../platform/http/json.ts';
import { endSocket } from '../platform/http/malformed.ts';
import { registerShutdown } from '../platform/http/shutdown.ts';
import { limitUnreadResponses } from '../platform/http/unread-responses.ts';
import type { Logger } from '../platform/logging/logger.ts';
import { observeHttp } from '../platform/observability/observe.ts';
import type { Telemetry } from '../platform/observability/telemetry.ts';
import type { Clients } from './clients.ts';
import { type App, createFastify } from './fastify.ts';
import { registerAuthentication } from './hooks/authenticate.ts';
import { registerHeadBounds } from './hooks/bad-heads.ts';
import { registerCors } from './hooks/cors.ts';
import { registerErrors, toErrorResponse, UNAVAILABLE_BODY } from './hooks/errors.ts';
import { createRestLog, registerRequestLog } from './hooks/request-log.ts';
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
  const anonymousPacer = createAnonymousPacer(() => performance.now());
  const app = createFastify({ toJson, log, anonymousPacer }, corsOrigins);
  // JSON.stringify is faster than serializers compiled from the schemas, which already type the responses.
  app.setSerializerCompiler(() => (answer) => JSON.stringify(answer));
  const connections = boundConnections(app);
  observeHttp(app, 'rest', telemetry.metrics);
  paceAnonymousCallers(app, anonymousPacer, isAnonymous);
  registerJsonBody(app, { prototypeNames: 'remove', fairnessKeyOf });
  registerRequestLog(app, log);
  registerCors(app, corsOrigins);
  registerHeadBounds(app);
  registerCompression(app);
  limitUnreadResponses(app, { fairnessKeyOf, refusal: UNAVAILABLE_BODY });
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
        fairnessKeyOf,
        connections,
        refusal: UNAVAILABLE_BODY,
        metrics: telemetry.metrics,
      });
      registerWriteLimit(v1, limiter, telemetry.metrics);
      registerMe(v1);
      registerMaterials(v1, clients);
      registerReviews(v1, clients);
      registerSnoozes(v1, clients);
    },
    { prefix: '/v1' },
  );
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.server.on('connect', (_request, socket) =>
    endSocket(socket, new ServiceError('NOT_FOUND'), { toJson, log }, 'CONNECT'),
  );
  return app;
}

/** The key that a request counts against; all anonymous callers share one. */
const fairnessKeyOf = ({ principal }: FastifyRequest): string => principal?.apiKeyId ?? 'anonymous';
const isAnonymous = ({ principal }: FastifyRequest): boolean => (principal ?? null) === null;

const toJson = (error: ServiceError) => JSON.stringify(toErrorResponse(error));
