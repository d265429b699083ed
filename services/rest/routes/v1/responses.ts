// Responses of routes: the errors that each kind documents, and bodies that are JSON already.
import type { FastifyReply } from 'fastify';
import { ErrorResponseSchema } from '../../schemas.ts';

const ERRORS = {
  400: 'The body or the query is not valid; details.field names what is at fault.',
  401: 'A valid API key is missing.',
  403: 'The key lacks a scope; details.requiredScopes lists what is required.',
  404: 'There is no such material.',
  429: 'More than 60 writes of this key in a minute; Retry-After says when the next passes.',
  500: 'A fault of ours.',
  503: 'Not available right now; Retry-After says when to try again.',
} as const;

/** Response schemas for these statuses, and for 500 and 503, which any route can return. */
export function errorResponses<S extends Exclude<keyof typeof ERRORS, 500 | 503>>(...statuses: S[]) {
  const all: (keyof typeof ERRORS)[] = [...statuses, 500, 503];
  return Object.fromEntries(
    all.map((status) => [status, { ...ErrorResponseSchema, description: ERRORS[status] }]),
  );
}

/** Sends a body that is JSON already. */
export function sendJson(reply: FastifyReply, json: string | Buffer): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(json);
}

/** Aborted once the client has hung up. */
export function goneSignal({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  if (raw.destroyed) controller.abort();
  else raw.once('close', () => controller.abort());
  return controller.signal;
}
