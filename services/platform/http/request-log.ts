// What every HTTP request has: a log line with the reason of a refusal, the request ID and the security headers.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorReason, ServiceError } from '../errors.ts';
import { createRefusalLog, type Logger } from '../logging/logger.ts';

/** `field` uses the API's names. `cause` and `apiKeyId`, of a refused key, are for the log only. */
export type Refusal = {
  reason: ErrorReason;
  field?: string | undefined;
  cause?: string | undefined;
  apiKeyId?: string | undefined;
};

const refusals = new WeakMap<FastifyRequest, Refusal>();
const shed = new WeakSet<FastifyRequest>();

/** Says why the request is refused, for its log line. */
export function markRefused(request: FastifyRequest, refusal: Refusal): void {
  refusals.set(request, refusal);
}

export function refusalOf(request: FastifyRequest): Refusal | undefined {
  return refusals.get(request);
}

/** Says that the request is refused for overload: it is not timed, and beyond a rate such refusals are only counted. */
export function markShed(request: FastifyRequest, why: string): void {
  shed.add(request);
  markRefused(request, { reason: 'UNAVAILABLE', cause: `overload: ${why}` });
}

export function wasShed(request: FastifyRequest): boolean {
  return shed.has(request);
}

const MAX_CAUSE_CHARACTERS = 300;

/** One line on why a service is unavailable, or a key refused. INTERNAL_ERROR is logged elsewhere with its stack. */
export function causeOf({ reason, cause, keyRefusal }: ServiceError): string | undefined {
  if (keyRefusal !== undefined) return keyRefusal.cause;
  if (reason !== 'UNAVAILABLE' || !(cause instanceof Error)) return undefined;
  // The text can contain a key that the caller sent as an ID.
  return new ServiceError('UNAVAILABLE', { message: cause.message.slice(0, MAX_CAUSE_CHARACTERS) }).message;
}

export type RequestLog = {
  /** Starts the timer; writes the line when the request ends. */
  begin(request: FastifyRequest, reply: FastifyReply): void;
  /** Writes the line of input that could not be parsed as a request. */
  refusedBare(requestId: string, line: { status: number } & Refusal): void;
};

/**
 * Logs the route pattern, never the URL, which can contain search text. `who` returns the caller at the end of the request.
 * Frequent refusals of anonymous callers are only counted.
 */
export function createRequestLog(
  logger: Logger,
  tier: string,
  who: (request: FastifyRequest) => Record<string, string | undefined>,
): RequestLog {
  const many = createRefusalLog(logger, tier);
  const end = (request: FastifyRequest, reply: FastifyReply, beganMs: number) => {
    const { statusCode } = reply;
    const hungUp = !reply.raw.writableFinished;
    const level = statusCode >= 500 ? 'warn' : 'info';
    if (!logger.isLevelEnabled(level)) return;
    const asker = who(request);
    const refusal = refusals.get(request);
    const fields = {
      tier,
      requestId: request.id,
      method: request.method,
      route: request.routeOptions.url ?? 'unknown',
      ...(hungUp ? { hungUp } : { status: statusCode }),
      ...refusal,
      durationMs: Math.round((performance.now() - beganMs) * 10) / 10,
      ...asker,
      ...(refusal?.apiKeyId && { apiKeyId: refusal.apiKeyId }),
    };
    const isAnonymous = Object.values(asker).every((value) => value === undefined);
    const isRefused = refusal !== undefined || statusCode >= 400 || hungUp;
    const reason = refusal?.reason ?? 'none';
    if (shed.has(request) || (isAnonymous && isRefused))
      many.write({ level, reason, fields, msg: 'request' });
    else logger[level](fields, 'request');
  };
  return {
    begin(request, reply) {
      const beganMs = performance.now();
      // Fastify does not call onResponse if the client disconnected.
      reply.raw.once('close', () => end(request, reply, beganMs));
    },
    refusedBare(requestId, { status, ...refusal }) {
      const fields = { tier, requestId, status, ...refusal };
      many.write({ level: 'info', reason: refusal.reason, fields, msg: 'request' });
    },
  };
}

/** Sets the headers of every response. */
export function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers({
    'x-request-id': request.id,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  });
}
