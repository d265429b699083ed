// Configures Fastify for REST: bounds on heads and bodies, the validator, and responses to malformed requests.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type RawServerDefault } from 'fastify';
import { type ErrorFormat, malformedOptions } from '../platform/http/malformed.ts';
import { SERVER_OPTIONS } from '../platform/http/server.ts';
import { FORMATS, parseQuery } from './formats.ts';

export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

const MAX_HEAD_BYTES = 16 * 1024;
const MAX_BODY_BYTES = 256 * 1024;

export function createFastify(format: ErrorFormat): App {
  return Fastify({
    ...SERVER_OPTIONS,
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
