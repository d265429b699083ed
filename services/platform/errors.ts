// The catalogue of errors: each reason with its gRPC status, HTTP status and default text.
import { status } from '@grpc/grpc-js';
import { withoutKeys } from './redaction.ts';

/**
 * Every way in which a call can fail. The key is the gRPC reason and the GraphQL code; in lower case it is the code of
 * the REST API. `text` is the message if the thrower gives none, and always for internal errors.
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
  NOT_FOUND: {
    grpcStatus: status.NOT_FOUND,
    httpStatus: 404,
    text: 'The requested resource does not exist.',
  },
  // Of an undo, over gRPC and GraphQL alone.
  REVIEW_NOT_LATEST: {
    grpcStatus: status.FAILED_PRECONDITION,
    httpStatus: 400,
    text: 'Only the latest review of a material can be undone.',
  },
  MATERIAL_CHANGED: {
    grpcStatus: status.FAILED_PRECONDITION,
    httpStatus: 400,
    text: 'The material was snoozed, edited, archived or imported since.',
  },
  REVIEW_TOO_OLD: {
    grpcStatus: status.FAILED_PRECONDITION,
    httpStatus: 400,
    text: 'A review can be undone for 24 hours.',
  },
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

/** Why a key is refused. Only for logs and support: the response is the same for every cause. */
export type KeyRefusal = {
  cause: 'missing' | 'mistyped' | 'unknown' | 'revoked' | 'expired' | 'address';
  /** Of a known key. */
  apiKeyId?: string | undefined;
};

/** Details of an error. All but `cause` reach the caller, so they must contain no secret. */
export type ErrorDetails = {
  /** Message for the caller; default: the catalogue's text. */
  message?: string;
  /** The invalid field, named as on the throwing side (snake_case over gRPC). */
  field?: string;
  /** What is wrong with the field, if the message is the field's name followed by this. */
  problem?: string;
  /** The scopes that the endpoint requires. */
  requiredScopes?: readonly string[];
  /** Whole seconds to wait before a retry. */
  retryAfterSeconds?: number;
  /** With UNAUTHORIZED; sent between services, never to the caller of an API. */
  keyRefusal?: KeyRefusal;
  /** The underlying error, for the log only. */
  cause?: unknown;
};

/** An error for the caller: a reason from the catalogue, a message, and optional details. */
export class ServiceError extends Error {
  readonly reason: ErrorReason;
  readonly field: string | undefined;
  readonly problem: string | undefined;
  readonly requiredScopes: readonly string[] | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly keyRefusal: KeyRefusal | undefined;

  constructor(reason: ErrorReason, details: ErrorDetails = {}) {
    super(withoutKeys(details.message ?? ERROR_CATALOGUE[reason].text), { cause: details.cause });
    this.name = 'ServiceError';
    this.reason = reason;
    this.field = details.field;
    this.problem = details.problem && withoutKeys(details.problem);
    this.requiredScopes = details.requiredScopes;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.keyRefusal = details.keyRefusal;
  }
}

/** An INVALID_REQUEST for `field`, with a whole sentence as its message. */
export function invalidRequest(field: string, message: string): ServiceError {
  return new ServiceError('INVALID_REQUEST', { field, message });
}

/** An UNAVAILABLE; `why` is for the log alone. */
export function unavailable(why: string): ServiceError {
  return new ServiceError('UNAVAILABLE', { cause: new Error(why) });
}

/** An INVALID_REQUEST whose message is `field` and what is wrong with it, such as "must be a UUID.". */
export function invalidField(field: string, problem: string): ServiceError {
  return new ServiceError('INVALID_REQUEST', { field, message: `${field} ${problem}`, problem });
}

/**
 * The message for the caller; a fixed text for our own faults. `name`: the field's name in the caller's interface. `reword` translates
 * other names of the protocol in a problem into those of that interface.
 */
export function messageNaming(
  name: string | undefined,
  { reason, message, problem }: ServiceError,
  reword: (problem: string) => string = (text) => text,
): string {
  if (reason === 'INTERNAL_ERROR' || reason === 'UNAVAILABLE') return ERROR_CATALOGUE[reason].text;
  return problem === undefined ? message : `${name} ${reword(problem)}`;
}

/** Returns a ServiceError unchanged; any other error becomes the cause of an INTERNAL_ERROR. */
export function toServiceError(error: unknown): ServiceError {
  return error instanceof ServiceError ? error : new ServiceError('INTERNAL_ERROR', { cause: error });
}

/** Whether this is an error for the caller with that reason. */
export function hasReason(error: unknown, reason: ErrorReason): error is ServiceError {
  return error instanceof ServiceError && error.reason === reason;
}

export function isErrorReason(value: string): value is ErrorReason {
  return Object.hasOwn(ERROR_CATALOGUE, value);
}
