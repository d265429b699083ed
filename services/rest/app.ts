// The facade as an application that is not listening yet: what is registered, in which order, and why in that order.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  type RawServerDefault,
} from 'fastify';
import { ServiceError } from '../platform/errors.ts';
import { registerAdmission } from '../platform/http-admission.ts';
import { answerBadHttp, endSocket } from '../platform/http-bad.ts';
import { boundConnections } from '../platform/http-connections.ts';
import { registerJsonBody } from '../platform/http-json.ts';
import { registerShutdown } from '../platform/http-shutdown.ts';
import { boundUnreadAnswers } from '../platform/http-unread.ts';
import type { Logger } from '../platform/logger.ts';
import { observeHttp } from '../platform/ops/observe-http.ts';
import { NO_TELEMETRY, type Telemetry } from '../platform/ops/telemetry.ts';
import { requestIdOf } from '../platform/request-id.ts';
import type { Clients } from './clients.ts';
import { FORMATS, parseQuery } from './formats.ts';
import type { KeyVerifier } from './key-verifier.ts';
import { createMaterialLists } from './material-lists.ts';
import { registerAuthentication } from './plugins/authenticate.ts';
import { answerBadUrl, registerHeadBounds } from './plugins/bad-heads.ts';
import { registerDocs } from './plugins/docs.ts';
import { registerErrors, toErrorResponse, UNAVAILABLE_BODY } from './plugins/errors.ts';
import { registerRequestLog } from './plugins/request-log.ts';
import { registerWriteLimit } from './plugins/write-limit.ts';
import { registerMaterials } from './routes/v1/materials.ts';
import { registerMe } from './routes/v1/me.ts';
import { registerReviews } from './routes/v1/reviews.ts';
import { registerSnoozes } from './routes/v1/snoozes.ts';
import type { WriteLimiter } from './write-limit/write-limiter.ts';

export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

export type AppDependencies = {
  clients: Clients;
  verifier: KeyVerifier;
  limiter: WriteLimiter;
  logger: Logger;
  docs: boolean;
  telemetry?: Telemetry;
};

/**
 * Requests at work at once, and how many of them may be reads. Measured: twice as many made nothing more of the machine, and
 * those who were refused waited twice as long to be told.
 */
const ROOM = 128;
const ROOM_FOR_READS = 96;
const MAX_HEAD_BYTES = 16 * 1024;
const MAX_BODY_BYTES = 256 * 1024;

export async function buildApp(dependencies: AppDependencies): Promise<App> {
  const { clients, verifier, limiter, logger, docs, telemetry = NO_TELEMETRY } = dependencies;
  const lists = createMaterialLists(clients);
  const app = createFastify();
  // What is answered is typed by the schemas; V8's own is faster than what is compiled from them, and leaves one text behind.
  app.setSerializerCompiler(() => (answer) => JSON.stringify(answer));
  const connections = boundConnections(app);
  observeHttp(app, 'rest', telemetry);
  registerJsonBody(app, { prototypeNames: 'remove' });
  registerRequestLog(app, logger);
  registerHeadBounds(app);
  boundUnreadAnswers(app, { holderOf, refusal: UNAVAILABLE_BODY });
  registerErrors(app, logger);
  registerShutdown(app);
  if (docs) await registerDocs(app);
  await app.register(
    async (v1: App) => {
      // The order of the hooks is the order of the checks: 401, 403, 503 beyond the room, 429; then the body, 400.
      registerAuthentication(v1, verifier);
      registerAdmission(v1, {
        tier: 'rest',
        room: ROOM,
        roomForReads: ROOM_FOR_READS,
        holderOf,
        connections,
        refusal: UNAVAILABLE_BODY,
        metrics: telemetry.metrics,
      });
      registerWriteLimit(v1, limiter, telemetry.metrics);
      registerMe(v1);
      registerMaterials(v1, clients, lists);
      registerReviews(v1, clients, lists);
      registerSnoozes(v1, clients);
    },
    { prefix: '/v1' },
  );
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.server.on('connect', (_request, socket) => endSocket(socket, new ServiceError('NOT_FOUND'), toJson));
  return app;
}

/** Whose share a request counts in; all who have shown no valid key are one. */
const holderOf = ({ principal }: FastifyRequest): string => principal?.apiKeyId ?? 'stranger';

const toJson = (error: ServiceError) => JSON.stringify(toErrorResponse(error));

function createFastify(): App {
  return Fastify({
    logger: false,
    bodyLimit: MAX_BODY_BYTES,
    exposeHeadRoutes: false,
    // Ours are answered to the end; Fastify's own refusal would not be in the documented shape.
    return503OnClosing: false,
    requestTimeout: 10_000,
    http: {
      maxHeaderSize: MAX_HEAD_BYTES,
      headersTimeout: 5_000,
      requestTimeout: 10_000,
      connectionsCheckingInterval: 1_000,
      requireHostHeader: false,
    },
    routerOptions: { maxParamLength: MAX_HEAD_BYTES, querystringParser: parseQuery },
    genReqId: ({ headers }) => requestIdOf(headers['x-request-id']),
    frameworkErrors: answerBadUrl,
    clientErrorHandler: answerBadHttp(toJson),
    ajv: {
      customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false },
      onCreate: (ajv) => {
        for (const [name, validate] of Object.entries(FORMATS)) ajv.addFormat(name, validate);
      },
    },
  }).withTypeProvider<TypeBoxTypeProvider>();
}
