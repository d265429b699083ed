// Bounds the bytes of answers that wait until their clients take them: whoever reads nothing is soon told 503.
import type { FastifyInstance, FastifyRequest } from 'fastify';

const MIB = 1024 * 1024;
/** Of one holder. Three of the largest lists fit. */
const PER_HOLDER = 80 * MIB;
/** Of all. Beyond it only who has little waiting is answered. */
const PER_PROCESS = 256 * MIB;
const LITTLE = MIB;
/** Slower than this an answer is not taken but held; the connection is closed. */
const LEAST_BYTES_A_MS = 64;
const GRACE_MS = 10_000;

/**
 * `holderOf` tells whose bytes they are; all strangers are one. `refusal` is the JSON that says 503. Streams are not counted:
 * they wait for their reader by themselves.
 */
export function boundUnreadAnswers(
  app: FastifyInstance,
  { holderOf, refusal }: { holderOf: (request: FastifyRequest) => string; refusal: string },
): void {
  const waiting = new Map<string, number>();
  let all = 0;
  const count = (holder: string, bytes: number) => {
    all += bytes;
    const own = (waiting.get(holder) ?? 0) + bytes;
    if (own === 0) waiting.delete(holder);
    else waiting.set(holder, own);
  };
  app.addHook('onSend', (request, reply, payload, done) => {
    const bytes = bytesOf(payload);
    if (bytes === 0) {
      done();
      return;
    }
    const holder = holderOf(request);
    const own = (waiting.get(holder) ?? 0) + bytes;
    if (own > PER_HOLDER || (all + bytes > PER_PROCESS && own > LITTLE)) {
      reply.code(503).header('retry-after', '1').type('application/json; charset=utf-8');
      done(null, refusal);
      return;
    }
    count(holder, bytes);
    const tooLong =
      bytes < LITTLE
        ? undefined
        : setTimeout(() => request.raw.socket.destroy(), GRACE_MS + bytes / LEAST_BYTES_A_MS);
    reply.raw.once('close', () => {
      clearTimeout(tooLong);
      count(holder, -bytes);
    });
    done();
  });
}

function bytesOf(payload: unknown): number {
  return typeof payload === 'string' || Buffer.isBuffer(payload) ? Buffer.byteLength(payload) : 0;
}
