// Declares the responses of routes for the OpenAPI document: headers, examples, and the errors that each kind documents.
import { invalidRequest, ServiceError } from '../../platform/errors.ts';
import { toErrorResponse } from '../errors.ts';
import { ErrorResponseSchema, type Scope } from '../schemas.ts';

const text = (description: string, example: string) => ({ type: 'string', description, examples: [example] });
const seconds = (description: string) => ({ type: 'integer', minimum: 1, description, examples: [12] });

const ALWAYS = {
  'X-Request-Id': text(
    'Finds the request in the logs: as sent, or generated.',
    '0b2f6c52-6f0c-4c8e-9a52-8f3f2a0d7c11',
  ),
};
const LIMITED = {
  ...ALWAYS,
  RateLimit: text('What is left: r more writes now, and one more after t seconds.', '"write";r=59;t=60'),
  'RateLimit-Policy': text('The write limit: q writes in w seconds.', '"write";q=60;w=60'),
};
const WRITTEN = {
  ...LIMITED,
  'Idempotent-Replayed': {
    type: 'string',
    enum: ['true'],
    description: 'Only where the Idempotency-Key was used before: this is the response of then.',
  },
};

type Options = { isWrite?: boolean };

/** The response of success: its schema, with its headers and an example of its body. */
export function success<S extends object>(schema: S, example: object, { isWrite = false }: Options = {}): S {
  return { ...schema, headers: isWrite ? WRITTEN : ALWAYS, examples: [example] };
}

const ERRORS = {
  400: 'The body, the query, the path or a header is not valid; details.field names what is at fault.',
  401: 'A valid API key is missing, or it is not allowed from this address.',
  403: 'The key lacks a scope; details.requiredScopes lists what is required.',
  404: 'There is no such material.',
  429: 'More writes of this key in a minute than RateLimit-Policy allows, normally 60; Retry-After says when the next passes.',
  500: 'A fault of ours.',
  503: 'Not available right now; Retry-After says when to try again.',
} as const;

type ErrorOptions = Options & { scopes?: readonly Scope[] };

/** Responses for these statuses, and for 500 and 503, which any route can return. `scopes`: for the example of 403. */
export function errorResponses<S extends Exclude<keyof typeof ERRORS, 500 | 503>>(
  statuses: readonly S[],
  { isWrite = false, scopes = [] }: ErrorOptions = {},
) {
  const examples: Readonly<Record<keyof typeof ERRORS, ServiceError>> = {
    400: isWrite
      ? invalidRequest('body', 'The body must be a JSON object in UTF-8.')
      : invalidRequest('limit', 'The request is not valid: limit must be one whole number from 1 to 100.'),
    401: new ServiceError('UNAUTHORIZED'),
    403: new ServiceError('INSUFFICIENT_SCOPE', { requiredScopes: scopes }),
    404: new ServiceError('NOT_FOUND'),
    429: new ServiceError('RATE_LIMITED'),
    500: new ServiceError('INTERNAL_ERROR'),
    503: new ServiceError('UNAVAILABLE'),
  };
  const all: (keyof typeof ERRORS)[] = [...statuses, 500, 503];
  return Object.fromEntries(
    all.map((status) => [
      status,
      {
        ...ErrorResponseSchema,
        'x-response-description': ERRORS[status],
        headers: headersOf(status, isWrite),
        examples: [toErrorResponse(examples[status])],
      },
    ]),
  );
}

/** A write counts once its key, its scope and the load have been checked. */
function headersOf(status: keyof typeof ERRORS, isWrite: boolean) {
  const isCounted = isWrite && status !== 401 && status !== 403 && status !== 503;
  return {
    ...(isCounted ? LIMITED : ALWAYS),
    ...(status === 401 && { 'WWW-Authenticate': text('The scheme of keys.', 'Bearer') }),
    ...(status === 429 && { 'Retry-After': seconds('Seconds until the next write passes.') }),
    ...(status === 503 && { 'Retry-After': seconds('Seconds to wait before the next attempt.') }),
  };
}
