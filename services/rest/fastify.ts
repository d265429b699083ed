// Configures Fastify for REST: bounds on heads and bodies, the validator, and responses to malformed requests.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type RawServerDefault } from 'fastify';
import { answerBadHttp, answerBadUrl, type BareAnswers } from '../platform/http/malformed.ts';
import { requestIdOf } from '../platform/logging/request-id.ts';
import { FORMATS, parseQuery } from './formats.ts';
import { sendError } from './hooks/errors.ts';
import { beginAnswer } from './hooks/request-log.ts';

export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

const MAX_HEAD_BYTES = 16 * 1024;
const MAX_BODY_BYTES = 256 * 1024;

export function createFastify(refusals: BareAnswers): App {
  return Fastify({
    logger: false,
    bodyLimit: MAX_BODY_BYTES,
    exposeHeadRoutes: false,
    // During a shutdown requests still succeed; Fastify's own 503 would not have the documented error format.
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
    frameworkErrors: answerBadUrl(refusals, beginAnswer, sendError),
    clientErrorHandler: answerBadHttp(refusals),
    ajv: {
      customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false },
      onCreate: (ajv) => {
        for (const [name, validate] of Object.entries(FORMATS)) ajv.addFormat(name, validate);
      },
    },
  }).withTypeProvider<TypeBoxTypeProvider>();
}
