// Rate-limits the responses to callers without a valid key, so that they cannot take the CPU from authenticated callers.
import type { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { cutOff } from './connections.ts';
import { createDelayedResponses } from './delayed-responses.ts';

/** For all anonymous callers together. At this rate they take less than a tenth of a core. */
const RESPONSES_PER_SECOND = 250;
/** A body counts as one response for each of these bytes begun: those who load pages in a loop would saturate the machine. */
const BYTES_OF_A_RESPONSE = 64 * 1024;
/** Unused rate accumulates for this long: a burst of 500 responses after two idle seconds. */
const BURST_MS = 2000;
const MAX_WAIT_MS = 2000;
/** Delayed responses at most; beyond it the connection is cut off. */
const MAX_WAITING = 2000;

export type AnonymousPacer = {
  /** Calls `answer` as soon as the rate allows; never after `closing` emits 'close'. `bytes`: of the body, default 0. */
  pace(socket: Duplex, closing: EventEmitter, answer: () => void, bytes?: number): void;
  /** Sends all waiting responses at once, for the shutdown. */
  flush(): void;
};

/** `nowMs` is a monotonic clock. */
export function createAnonymousPacer(nowMs: () => number): AnonymousPacer {
  const delayed = createDelayedResponses(MAX_WAITING);
  let freeAtMs = Number.NEGATIVE_INFINITY;
  return {
    pace(socket, closing, answer, bytes = 0) {
      const now = nowMs();
      const responses = Math.max(1, Math.ceil(bytes / BYTES_OF_A_RESPONSE));
      const turnMs = Math.max(freeAtMs, now - BURST_MS) + (responses * 1000) / RESPONSES_PER_SECOND;
      freeAtMs = Math.min(turnMs, now + MAX_WAIT_MS);
      if (freeAtMs <= now) answer();
      else if (!delayed.add(closing, freeAtMs - now, answer)) cutOff(socket);
    },
    flush: delayed.flush,
  };
}

/** Register before any hook that reads the body of a refused request. */
export function paceAnonymousCallers(
  app: FastifyInstance,
  anonymousPacer: AnonymousPacer,
  isAnonymous: (request: FastifyRequest) => boolean,
): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    if (isAnonymous(request))
      anonymousPacer.pace(request.raw.socket, reply.raw, done, bytesOf(request, payload));
    else done();
  });
  app.addHook('preClose', async () => anonymousPacer.flush());
}

/** 0 of what has no body: a response to HEAD, a 304. */
const bytesOf = ({ method }: FastifyRequest, payload: unknown): number =>
  method !== 'HEAD' && (typeof payload === 'string' || Buffer.isBuffer(payload))
    ? Buffer.byteLength(payload)
    : 0;
