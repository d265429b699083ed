// Load shedding: refuses requests beyond the capacity with 503 before any work is done for them.
import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createMetrics, type Metrics } from '../observability/metrics.ts';
import { markShed } from './request-log.ts';

/** The largest share of the capacity for one key. */
const KEY_SHARE = 1 / 3;
/** After this time a request of a client who has disconnected counts as ended: longer than any read that it makes. */
const ABANDONED_MS = 10_000;

export type Admission = {
  /** The `tier` label in metrics. */
  tier: string;
  /** Requests in flight at most. */
  capacity: number;
  /** Reads among them at most; the rest is kept for writes. Default: `capacity`. */
  readCapacity?: number;
  /** Who a request counts for. Called after authentication. */
  keyOf(request: FastifyRequest): string;
  /** JSON body of the 503. */
  refusal: string;
  metrics?: Metrics;
};

/**
 * Register after authentication, so that unauthenticated requests take no place. A request is in flight until it is answered and
 * its response is taken, so that responses in memory are bounded, too. Refusals are counted but not timed, and their log is
 * sampled, to keep them cheap under overload.
 */
export function registerAdmission(app: FastifyInstance, admission: Admission): void {
  const { tier, capacity, readCapacity = capacity, keyOf, refusal, metrics = createMetrics() } = admission;
  const maxOfKey = Math.max(1, Math.floor(capacity * KEY_SHARE));
  const inFlight = { read: 0, write: 0 };
  const inFlightOf = new Map<string, number>();
  const places = new WeakMap<FastifyRequest, { isAnswered: boolean; release(): void }>();
  metrics.gauge('srs_requests_at_work', () => [
    { labels: { tier, kind: 'read' }, value: inFlight.read },
    { labels: { tier, kind: 'write' }, value: inFlight.write },
  ]);

  const reasonToRefuse = (kind: 'read' | 'write', key: string): 'room' | 'key_share' | undefined => {
    if (inFlight.read + inFlight.write >= capacity) return 'room';
    if (kind === 'read' && inFlight.read >= readCapacity) return 'room';
    return (inFlightOf.get(key) ?? 0) >= maxOfKey ? 'key_share' : undefined;
  };

  app.addHook('onRequest', (request, reply, done) => {
    // A client that disconnected during authentication gets no place: Fastify would wait forever for the rest of its body.
    if (reply.raw.destroyed) return;
    const kind = request.routeOptions.config.isWrite === true ? 'write' : 'read';
    const key = keyOf(request);
    const reason = reasonToRefuse(kind, key);
    if (reason !== undefined) {
      metrics.count('srs_overload_refusals_total', { why: reason });
      markShed(request, reason);
      refuse(request, reply, refusal);
      return;
    }
    inFlight[kind] += 1;
    inFlightOf.set(key, (inFlightOf.get(key) ?? 0) + 1);
    const place = {
      isAnswered: false,
      release() {
        if (!places.delete(request)) return;
        inFlight[kind] -= 1;
        const left = (inFlightOf.get(key) ?? 1) - 1;
        if (left > 0) inFlightOf.set(key, left);
        else inFlightOf.delete(key);
      },
    };
    places.set(request, place);
    reply.raw.once('close', () => {
      // Where a client disconnects, the work for them goes on until it is answered.
      if (place.isAnswered) place.release();
      else setTimeout(place.release, ABANDONED_MS).unref();
    });
    done();
  });
  app.addHook('onSend', (request, reply, _payload, done) => {
    const place = places.get(request);
    if (place !== undefined) place.isAnswered = true;
    if (reply.raw.destroyed) place?.release();
    done();
  });
}

/** Bypasses Fastify's serialization and hooks, so that a refusal stays cheap under overload. Keeps headers that are set already. */
function refuse(request: FastifyRequest, reply: FastifyReply, body: string): void {
  reply.hijack();
  // Fastify types an absent header as undefined, and Node does not expect one.
  const known = reply.getHeaders() as OutgoingHttpHeaders;
  reply.raw.writeHead(503, {
    ...known,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'retry-after': '1',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-request-id': request.id,
  });
  reply.raw.end(body);
}
