// Sends requests, retries after no response, 429, and 500 or above, and defines the errors that a call can fail with.
import type { Error as ApiErrorBody, Scope } from './types.ts';

export type ClientOptions = {
  /** Ends with /v1. */
  baseUrl: string;
  /** Begins with rmk_live_. */
  apiKey: string;
  /** How often a call is repeated, 0 or more; default 5. */
  maxRetries?: number;
  /** Milliseconds of one attempt, an integer of 1 or more; default 10,000. */
  timeoutMs?: number;
  /** The longest wait before a retry, in milliseconds: with a longer Retry-After, the call fails. Default 60,000. */
  maxWaitMs?: number;
  /** Default: the global one. */
  fetch?: typeof fetch;
};

export type ReadOptions = {
  /** Ends the call and its retries; the call then rejects with the signal's reason. */
  signal?: AbortSignal;
};
export type WriteOptions = ReadOptions & {
  /**
   * 1 to 255 printable ASCII characters; default: a random one for each call. All retries of a call send the same. Give one to
   * repeat a write of an earlier process.
   */
  idempotencyKey?: string;
};

type Query = Readonly<Record<string, string | number | undefined>>;
type Send = { method: 'GET' | 'POST'; path: string; headers?: Record<string, string>; body?: string };

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;
/** Of a timer; a longer one would end at once. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

export function createSender(options: ClientOptions) {
  const {
    apiKey,
    maxRetries = 5,
    timeoutMs = 10_000,
    maxWaitMs = 60_000,
    fetch = globalThis.fetch,
  } = options;
  // fetch reports what it cannot send like a lost connection, so that it would be retried: checked here instead.
  requireOption('baseUrl', 'must begin with http:// or https://', /^(https?:\/)?\//i.test(options.baseUrl));
  requireOption('baseUrl', 'must be a URL without user, query and fragment', isPlainUrl(options.baseUrl));
  requireOption('apiKey', 'must be printable ASCII, without blanks', isText(apiKey, /^\s*[!-~]+\s*$/));
  // With NaN, as of an unset variable, it would repeat or wait without end.
  requireOption('maxRetries', 'must be 0 or more', maxRetries >= 0);
  requireOption('maxWaitMs', 'must be 0 or more', maxWaitMs >= 0);
  requireOption('timeoutMs', `must be an integer from 1 to ${LONGEST_TIMEOUT_MS}`, isTimeout(timeoutMs));
  const baseUrl = options.baseUrl.replace(/\/+$/, '');
  /** The message if there is no response at all. */
  const noConnection = isOfOtherOrigin(baseUrl)
    ? "no connection, or the service does not name this page's origin in CORS_ORIGINS"
    : 'no connection, or it broke';

  const attempt = async ({ method, path, headers, body }: Send, signal: AbortSignal | undefined) => {
    const timeout = AbortSignal.timeout(timeoutMs);
    let response: Response;
    let text: string;
    try {
      response = await fetch(baseUrl + path, {
        method,
        // If followed, a POST would become a GET, and its response be taken for that of the write.
        redirect: 'manual',
        headers: { authorization: `Bearer ${apiKey.trim()}`, ...headers },
        signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
        ...(body !== undefined && { body }),
      });
      text = await response.text();
    } catch (error) {
      signal?.throwIfAborted();
      // The ports that fetch refuses (Fetch, section 2.9), as Node and Deno say it.
      requireOption('baseUrl', 'has a port that fetch does not allow', !isBadPort(error));
      const message = timeout.aborted ? `no response within ${timeoutMs} ms` : noConnection;
      throw new ConnectionError(`${method} ${path.split('?')[0]}: ${message}`, { cause: error });
    }
    const json = parse(text);
    if (response.ok && json !== undefined) return json;
    throw toApiError({
      status: response.status,
      body: isRedirect(response) ? REDIRECTED : ((json as { error?: object } | undefined)?.error ?? {}),
      requestId: response.headers.get('x-request-id') ?? undefined,
      retryAfterSeconds: secondsUntil(response.headers.get('retry-after') ?? ''),
    });
  };

  const send = async <T>(request: Send, signal: AbortSignal | undefined): Promise<T> => {
    for (let retries = 0; ; retries += 1) {
      try {
        // The caller names the type that the contract gives this endpoint.
        return (await attempt(request, signal)) as T;
      } catch (error) {
        const pauseMs = pauseAfter(error, retries);
        if (pauseMs === undefined || pauseMs > maxWaitMs || retries >= maxRetries) throw error;
        await pause(pauseMs, signal);
      }
    }
  };

  return {
    async get<T>(path: string, query: Query = {}, { signal }: ReadOptions = {}): Promise<T> {
      const search = new URLSearchParams();
      for (const [name, value] of Object.entries(query)) {
        if (value !== undefined) search.set(name, `${value}`);
      }
      return send({ method: 'GET', path: search.size === 0 ? path : `${path}?${search}` }, signal);
    },
    async post<T>(
      path: string,
      body: object,
      { signal, idempotencyKey = randomKey() }: WriteOptions = {},
    ): Promise<T> {
      const isSendable = isText(idempotencyKey, /^(?=.*[^ ])[ -~]{1,255}$/);
      requireOption('idempotencyKey', 'must have 1 to 255 printable ASCII characters', isSendable);
      const headers = { 'content-type': 'application/json', 'idempotency-key': idempotencyKey };
      return send<T>({ method: 'POST', path, headers, body: JSON.stringify(body) }, signal);
    },
  };
}

/** @throws InvalidOptionError unless `isValid`. */
function requireOption(option: string, problem: string, isValid: boolean): void {
  if (!isValid) throw new InvalidOptionError(option, problem);
}

/** JavaScript can pass undefined and null, which would be sent as these words in a header. */
const isText = (value: unknown, form: RegExp) => typeof value === 'string' && form.test(value);

const isTimeout = (value: number) => Number.isInteger(value) && value >= 1 && value <= LONGEST_TIMEOUT_MS;

/** A path alone is one at the origin of a page. */
function isPlainUrl(text: string): boolean {
  if (!URL.canParse(text, 'http://page')) return false;
  const { username, password, search, hash } = new URL(text, 'http://page');
  return `${username}${password}${search}${hash}` === '';
}

/** Whether this is a page, and the service is at another origin. */
function isOfOtherOrigin(baseUrl: string): boolean {
  const { location } = globalThis as { location?: { origin?: string } };
  return location?.origin !== undefined && new URL(baseUrl, location.origin).origin !== location.origin;
}

function isBadPort(error: unknown): boolean {
  const cause = error instanceof Error ? (error.cause ?? error) : undefined;
  return cause instanceof Error && /\bbad port\b/i.test(cause.message);
}

const REDIRECTED = { message: 'The service is at another address: correct baseUrl.' };

/** Browsers do not tell the status of a redirect. */
const isRedirect = ({ status, type }: Response) =>
  type === 'opaqueredirect' || (status >= 300 && status < 400);

/** Reads Retry-After: seconds or, from a proxy, a date. Requires GMT, since Date.parse accepts almost anything. */
function secondsUntil(retryAfter: string): number | undefined {
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter);
  if (!retryAfter.endsWith(' GMT')) return undefined;
  const seconds = Math.ceil((Date.parse(retryAfter) - Date.now()) / 1000);
  return Number.isNaN(seconds) ? undefined : Math.max(seconds, 0);
}

/** Milliseconds to wait before the next attempt; undefined: another would fail, too. */
function pauseAfter(error: unknown, retries: number): number | undefined {
  if (error instanceof ApiError) {
    if (error.status !== 429 && error.status < 500) return undefined;
    if (error.retryAfterSeconds !== undefined) return error.retryAfterSeconds * 1000;
  } else if (!(error instanceof ConnectionError)) return undefined;
  // Random, so that clients that failed together do not return together.
  return Math.min(FIRST_PAUSE_MS * 2 ** retries, LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2);
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end);
  });
  signal?.throwIfAborted();
}

/** 128 random bits. crypto.randomUUID is missing in browsers without HTTPS. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The base of all errors that the client throws, but for an abort by the caller's own signal. */
export class ClientError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** An option that cannot be sent. Nothing was sent. */
export class InvalidOptionError extends ClientError {
  /** Its name. */
  readonly option: string;

  constructor(option: string, problem: string) {
    super(`${option} ${problem}`);
    this.option = option;
  }
}

/** No response: the connection failed, or the response took longer than `timeoutMs`. A write may have been done. */
export class ConnectionError extends ClientError {}

/** Details of an error response. */
type ErrorResponseParts = {
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

  constructor({ status, body, requestId, retryAfterSeconds }: ErrorResponseParts) {
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
function toApiError(response: ErrorResponseParts): ApiError {
  const Class = CLASSES[response.status] ?? (response.status >= 500 ? UnavailableError : ApiError);
  return new Class(response);
}
