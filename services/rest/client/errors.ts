// What a call can fail with, as classes.
import type { Error as ApiErrorBody, Scope } from './types.ts';

/** The base of all errors that the client throws, but for an abort by the caller's own signal. */
export class ClientError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** No response: the connection failed, or the response took longer than `timeoutMs`. A write may have been done. */
export class ConnectionError extends ClientError {}

/** Details of an error response. */
export type ErrorResponseFacts = {
  status: number;
  body: Partial<ApiErrorBody>;
  requestId: string | undefined;
  retryAfterSeconds: number | undefined;
};

/** A response other than success, a redirect included. */
export class ApiError extends ClientError {
  /** HTTP status; 0 for a redirect in a browser. */
  readonly status: number;
  /** One of the API's codes; undefined if the response came from something else, such as a proxy. */
  readonly code: ApiErrorBody['code'] | undefined;
  /** Finds the request in the service's logs. */
  readonly requestId: string | undefined;
  /** Whole seconds to wait, from the header Retry-After. */
  readonly retryAfterSeconds: number | undefined;
  readonly details: NonNullable<ApiErrorBody['details']>;

  constructor({ status, body, requestId, retryAfterSeconds }: ErrorResponseFacts) {
    super(body.message ?? `HTTP status ${status}`);
    this.status = status;
    this.code = body.code;
    this.requestId = requestId;
    this.retryAfterSeconds = retryAfterSeconds;
    this.details = body.details ?? {};
  }
}

/** 400: the body or the query is not valid. */
export class InvalidRequestError extends ApiError {
  /** The field at fault. */
  get field(): string | undefined {
    return this.details.field;
  }
}

/** 401: the key is missing, unknown or revoked. */
export class UnauthorizedError extends ApiError {}

/** 403: the key lacks a scope. */
export class InsufficientScopeError extends ApiError {
  /** One of them is enough. */
  get requiredScopes(): readonly Scope[] {
    return this.details.requiredScopes ?? [];
  }
}

/** 404: the material does not exist. */
export class NotFoundError extends ApiError {}

/** 429: the key has made too many writes, even after all retries. */
export class RateLimitedError extends ApiError {}

/** 500 and above, even after all retries. A write may have been done. */
export class UnavailableError extends ApiError {}

const CLASSES: Readonly<Record<number, typeof ApiError>> = {
  400: InvalidRequestError,
  401: UnauthorizedError,
  403: InsufficientScopeError,
  404: NotFoundError,
  429: RateLimitedError,
};

/** The error of the class for its status. */
export function toApiError(facts: ErrorResponseFacts): ApiError {
  const Class = CLASSES[facts.status] ?? (facts.status >= 500 ? UnavailableError : ApiError);
  return new Class(facts);
}
