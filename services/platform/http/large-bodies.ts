// Processes the large bodies of one key one at a time, so that they cannot take the CPU from other callers.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { createFairQueue } from '../concurrency.ts';

const LARGE_BYTES = 32 * 1024;
/** Waiting bodies per key; admission lets fewer in. */
const MAX_WAITING = 128;
/** Sixty bodies, a key's writes of one minute, take less. A body that waits longer gets 503. */
const MAX_WAIT_MS = 8000;
/**
 * A turn goes on for so many times as long as its body held the event loop. With the pause of the lane, which is as long as the
 * turn, at most a sixth of the loop goes to a key's bodies.
 */
const TIMES_HELD = 2;

/**
 * Register before any body is read. The returned function calls `work` when it is the turn of a body that has been read; a small
 * body does not wait. `refuse` gets UNAVAILABLE if the wait is too long.
 */
export function serializeLargeBodies(
  app: FastifyInstance,
  fairnessKeyOf: (request: FastifyRequest) => string,
): (request: FastifyRequest, bytes: number, work: () => void, refuse: (error: Error) => void) => void {
  const lane = createFairQueue({ maxRunning: Number.POSITIVE_INFINITY, maxWaiting: MAX_WAITING });
  const ends = new WeakMap<FastifyRequest, AbortController>();
  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (mayBeLarge(request)) {
      const end = new AbortController();
      ends.set(request, end);
      reply.raw.once('close', () => end.abort(ENDED));
    }
    done();
  });
  app.addHook('onSend', (request, _reply, _payload, done) => {
    ends.get(request)?.abort(ENDED);
    done();
  });
  return (request, bytes, work, refuse) => {
    const end = ends.get(request)?.signal;
    if (bytes <= LARGE_BYTES || end === undefined) return work();
    const inTime = AbortSignal.any([end, AbortSignal.timeout(MAX_WAIT_MS)]);
    const untilAnswered = async () => {
      const beganMs = performance.now();
      const answered = end.aborted ? undefined : once(end, 'abort');
      work();
      const heldMs = performance.now() - beganMs;
      await answered;
      await sleep(heldMs * TIMES_HELD);
    };
    lane.run(fairnessKeyOf(request), inTime, untilAnswered).catch(refuse);
  };
}

/** A shared abort reason: the default creates an error with a stack for each abort. */
const ENDED = 'ended';

const mayBeLarge = ({ headers }: FastifyRequest): boolean =>
  'transfer-encoding' in headers || Number(headers['content-length'] ?? 0) > LARGE_BYTES;
