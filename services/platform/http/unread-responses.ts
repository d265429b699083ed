// Bounds the bytes of responses that clients have not read yet; beyond the bound a request gets 503.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { noteRefusal } from './request-log.ts';

const MIB = 1024 * 1024;
/** Unread bytes per key: room for three of the largest lists. */
const MAX_BYTES_PER_KEY = 80 * MIB;
/** Unread bytes of the process. Beyond it, only keys with at most SMALL_BYTES unread get responses. */
const MAX_BYTES = 256 * MIB;
const SMALL_BYTES = MIB;
/** Minimum reading speed; a slower connection is closed. */
const MIN_BYTES_PER_MS = 64;
const GRACE_MS = 10_000;

/**
 * `fairnessKeyOf` returns the key that the bytes count against; all anonymous callers share one. `refusal` is the JSON body of the
 * 503. Not counted are streams, which apply backpressure, and files with an entity tag, whose bytes all responses share.
 */
export function limitUnreadResponses(
  app: FastifyInstance,
  { fairnessKeyOf, refusal }: { fairnessKeyOf: (request: FastifyRequest) => string; refusal: string },
): void {
  const waiting = new Map<string, number>();
  let all = 0;
  const count = (key: string, bytes: number) => {
    all += bytes;
    const own = (waiting.get(key) ?? 0) + bytes;
    if (own === 0) waiting.delete(key);
    else waiting.set(key, own);
  };
  app.addHook('onSend', (request, reply, payload, done) => {
    // A client that has hung up reads nothing, and its response closes no second time.
    const bytes = reply.hasHeader('etag') || reply.raw.destroyed ? 0 : bytesOf(payload);
    if (bytes === 0) {
      done();
      return;
    }
    const key = fairnessKeyOf(request);
    const own = (waiting.get(key) ?? 0) + bytes;
    if (own > MAX_BYTES_PER_KEY || (all + bytes > MAX_BYTES && own > SMALL_BYTES)) {
      noteRefusal(request, { reason: 'UNAVAILABLE', cause: 'too many unread responses of this caller' });
      reply.code(503).header('retry-after', '1').type('application/json; charset=utf-8');
      // The refusal replaces what may be compressed.
      reply.removeHeader('content-encoding');
      done(null, refusal);
      return;
    }
    count(key, bytes);
    const tooLong =
      bytes < SMALL_BYTES
        ? undefined
        : setTimeout(() => request.raw.socket.destroy(), GRACE_MS + bytes / MIN_BYTES_PER_MS);
    reply.raw.once('close', () => {
      clearTimeout(tooLong);
      count(key, -bytes);
    });
    done();
  });
}

function bytesOf(payload: unknown): number {
  return typeof payload === 'string' || Buffer.isBuffer(payload) ? Buffer.byteLength(payload) : 0;
}
