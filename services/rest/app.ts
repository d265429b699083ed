// The facade as an application that is not listening yet: what is registered, in which order, and why in that order.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type RawServerDefault } from 'fastify';
import { ServiceError } from '../platform/errors.ts';
import { registerShutdown } from '../platform/http-shutdown.ts';
import type { Logger } from '../platform/logger.ts';
import { observeHttp } from '../platform/ops/observe-http.ts';
import { NO_TELEMETRY, type Telemetry } from '../platform/ops/telemetry.ts';
import { requestIdOf } from '../platform/request-id.ts';
import type { Clients } from './clients.ts';
import { FORMATS, parseQuery } from './formats.ts';
import type { KeyVerifier } from './key-verifier.ts';
import { createMaterialLists } from './material-lists.ts';
import { fingerprintOfKey, registerAuthentication } from './plugins/authenticate.ts';
import { answerBadHttp, answerBadUrl, endSocket } from './plugins/bad-http.ts';
import { registerBody } from './plugins/body.ts';
import { registerDocs } from './plugins/docs.ts';
import { registerErrors } from './plugins/errors.ts';
import { registerOverloadGuard } from './plugins/overload.ts';
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

const MAX_HEAD_BYTES = 16 * 1024;
const MAX_BODY_BYTES = 256 * 1024;

export async function buildApp(dependencies: AppDependencies): Promise<App> {
  const { clients, verifier, limiter, logger, docs, telemetry = NO_TELEMETRY } = dependencies;
  const lists = createMaterialLists(clients);
  const app = createFastify();
  // What is answered is typed by the schemas; V8's own is faster than what is compiled from them, and leaves one text behind.
  app.setSerializerCompiler(() => (answer) => JSON.stringify(answer));
  registerOverloadGuard(app, { holderOf: fingerprintOfKey, metrics: telemetry.metrics });
  observeHttp(app, 'rest', telemetry);
  registerBody(app);
  registerRequestLog(app, logger);
  registerErrors(app, logger);
  registerShutdown(app);
  if (docs) await registerDocs(app);
  await app.register(
    async (v1: App) => {
      // The order of the hooks is the order of the checks: 401, 403, 429; then the body, 400.
      registerAuthentication(v1, verifier);
      registerWriteLimit(v1, limiter, telemetry.metrics);
      registerMe(v1);
      registerMaterials(v1, clients, lists);
      registerReviews(v1, clients, lists);
      registerSnoozes(v1, clients);
    },
    { prefix: '/v1' },
  );
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.server.on('connect', (_request, socket) => endSocket(socket, new ServiceError('NOT_FOUND')));
  return app;
}

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
    clientErrorHandler: answerBadHttp,
    ajv: {
      customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false },
      onCreate: (ajv) => {
        for (const [name, validate] of Object.entries(FORMATS)) ajv.addFormat(name, validate);
      },
    },
  }).withTypeProvider<TypeBoxTypeProvider>();
}
