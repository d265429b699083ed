// The one catalogue of errors: every reason with its gRPC status, its HTTP status and its fixed text.
import { status } from '@grpc/grpc-js';

/**
 * Every way in which a call can fail. The key is the gRPC reason and the GraphQL code; in lower case it is the code of
 * the REST API. `text` answers where the thrower says nothing more exact, and always for faults of ours.
 */
export const ERROR_CATALOGUE = {
  UNAUTHORIZED: {
    grpcStatus: status.UNAUTHENTICATED,
    httpStatus: 401,
    text: 'A valid API key is required. Send it as "Authorization: Bearer <API_KEY>" or in X-Service-API-Key.',
  },
  INSUFFICIENT_SCOPE: {
    grpcStatus: status.PERMISSION_DENIED,
    httpStatus: 403,
    text: 'The API key lacks a scope that this endpoint requires.',
  },
  INVALID_REQUEST: {
    grpcStatus: status.INVALID_ARGUMENT,
    httpStatus: 400,
    text: 'The request is not valid.',
  },
  INVALID_SCOPE: {
    grpcStatus: status.INVALID_ARGUMENT,
    httpStatus: 400,
    text: 'A scope is unknown, or wider than the key it is derived from.',
  },
  RATE_LIMITED: {
    grpcStatus: status.RESOURCE_EXHAUSTED,
    httpStatus: 429,
    text: 'Too many requests. Wait for the seconds in Retry-After, then try again.',
  },
  NOT_FOUND: { grpcStatus: status.NOT_FOUND, httpStatus: 404, text: 'There is nothing here.' },
  INTERNAL_ERROR: {
    grpcStatus: status.INTERNAL,
    httpStatus: 500,
    text: 'Something went wrong on our side. It has been logged.',
  },
  UNAVAILABLE: {
    grpcStatus: status.UNAVAILABLE,
    httpStatus: 503,
    text: 'The service cannot answer right now. Try again in a moment.',
  },
} as const satisfies Record<string, { grpcStatus: status; httpStatus: number; text: string }>;

export type ErrorReason = keyof typeof ERROR_CATALOGUE;

/** What an error says beyond its reason. Nothing here may hold a secret: all of it reaches the caller. */
export type ErrorDetails = {
  /** Text for the caller; default: the catalogue's. */
  message?: string;
  /** The field at fault, in the naming of the side that throws (snake_case over gRPC). */
  field?: string;
  /** Scopes of which the key lacks what it needs. */
  requiredScopes?: readonly string[];
  /** Whole seconds after which trying again makes sense. */
  retryAfterSeconds?: number;
  /** The fault behind it: for the log, never for the caller. */
  cause?: unknown;
};

/** An error that a caller may see: a reason of the catalogue, a text, and where it applies the field at fault. */
export class ServiceError extends Error {
  readonly reason: ErrorReason;
  readonly field: string | undefined;
  readonly requiredScopes: readonly string[] | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(reason: ErrorReason, details: ErrorDetails = {}) {
    super(withoutKeys(details.message ?? ERROR_CATALOGUE[reason].text), { cause: details.cause });
    this.name = 'ServiceError';
    this.reason = reason;
    this.field = details.field;
    this.requiredScopes = details.requiredScopes;
    this.retryAfterSeconds = details.retryAfterSeconds;
  }
}

/** Messages name what was asked for, and some callers put their key where an id or a path belongs. */
function withoutKeys(message: string): string {
  return message.replaceAll(/rmk_live_\w+/g, 'rmk_live_…');
}

/** Shorthand for the commonest error: `field` is at fault, and `message` says what it should be. */
export function invalidField(field: string, message: string): ServiceError {
  return new ServiceError('INVALID_REQUEST', { field, message });
}

/** Returns `error` if it is one for callers; anything else becomes INTERNAL_ERROR with the original as its cause. */
export function toServiceError(error: unknown): ServiceError {
  return error instanceof ServiceError ? error : new ServiceError('INTERNAL_ERROR', { cause: error });
}

export function isErrorReason(value: string): value is ErrorReason {
  return Object.hasOwn(ERROR_CATALOGUE, value);
}

/** For those who take an error as an answer. */
export function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
