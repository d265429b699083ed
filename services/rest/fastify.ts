// Configures Fastify for REST: bounds on heads and bodies, the validator, and responses to malformed requests.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type RawServerDefault } from 'fastify';
import { type BareAnswers, fastifyOptions } from '../platform/http/malformed.ts';
import { FORMATS, parseQuery } from './formats.ts';
import { allowOrigin } from './hooks/cors.ts';
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

/** `corsOrigins`: whose pages read refusals of URLs that reach no hook. */
export function createFastify(refusals: BareAnswers, corsOrigins: ReadonlySet<string>): App {
  const begin: typeof beginAnswer = (log, request, reply) => {
    beginAnswer(log, request, reply);
    allowOrigin(corsOrigins, request, reply);
  };
  const common = fastifyOptions(refusals, begin, sendError);
  return Fastify({
    ...common,
    bodyLimit: MAX_BODY_BYTES,
    http: { ...common.http, maxHeaderSize: MAX_HEAD_BYTES, requireHostHeader: false },
    routerOptions: { maxParamLength: MAX_HEAD_BYTES, querystringParser: parseQuery },
    ajv: {
      customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false },
      onCreate: (ajv) => {
        for (const [name, validate] of Object.entries(FORMATS)) ajv.addFormat(name, validate);
      },
    },
  }).withTypeProvider<TypeBoxTypeProvider>();
}
