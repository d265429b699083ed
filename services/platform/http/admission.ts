// Load shedding: refuses requests beyond the capacity with 503 before any work is done for them.
import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createMetrics, type Metrics } from '../observability/metrics.ts';
import type { Connections } from './connections.ts';
import { createDelayedResponses } from './delayed-responses.ts';
import { createFloodDetector, type FloodDetector } from './flood-detector.ts';
import { noteShed } from './request-log.ts';

/**
 * Places that a key may hold per free place: a single busy key gets three quarters of the capacity, and a key without a place
 * can take the last one. This is the dynamic threshold algorithm for shared switch buffers: Choudhury and Hahne, IEEE/ACM
 * Transactions on Networking 6 (1998).
 */
const HELD_PER_FREE = 3;
/** The same within TIGHT_MS after a refusal: sustained load of one key leaves four fifths of the places to others. */
const HELD_PER_FREE_WHEN_TIGHT = 0.25;
const TIGHT_MS = 1000;
/** Places of each kind for a flooding key. */
const PLACES_OF_A_FLOOD = 1;
/** Delay of a 503 to a flooding key. A client that waits for the response then sends one request a second per connection. */
const FLOOD_DELAY_MS = 1000;
/** Delayed responses at most; beyond it a 503 is sent at once, since each takes memory. */
const MAX_WAITING = 1000;

/** Reads and writes are counted separately: a key whose writes hang can still read. */
type Kind = { taken: number; heldBy: Map<string, number>; tightUntilMs: number; floods: FloodDetector };
const createKind = (): Kind => ({
  taken: 0,
  heldBy: new Map(),
  tightUntilMs: 0,
  floods: createFloodDetector(() => performance.now()),
});

/** Releases the place of a disconnected client whose request never gets a response. */
const DISCONNECTED_RELEASE_MS = 10_000;

export type Admission = {
  /** The `tier` label in metrics. */
  tier: string;
  /** Maximum number of requests in progress. */
  capacity: number;
  /** Maximum number of reads among them; the rest is reserved for writes. Default: `capacity`. */
  readCapacity?: number;
  /** The key whose share a request counts against. Called after authentication. */
  fairnessKeyOf(request: FastifyRequest): string;
  /** Learns the key of each connection. */
  connections?: Connections;
  /** JSON body of the 503. */
  refusal: string;
  metrics?: Metrics;
};

/**
 * Register after authentication, so that unauthenticated requests take no place. A place is released when the response is sent;
 * unread-responses.ts bounds what clients have not read. Refusals are counted but not timed, and their log is sampled, to keep
 * them cheap under overload.
 */
export function registerAdmission(app: FastifyInstance, admission: Admission): void {
  const { tier, capacity, readCapacity = capacity, fairnessKeyOf, connections } = admission;
  const { refusal, metrics = createMetrics() } = admission;
  const refuse = refuseWith(refusal);
  const [reads, writes] = [createKind(), createKind()];
  const admitted = new WeakMap<FastifyRequest, () => void>();
  const delayed = createDelayedResponses(MAX_WAITING);
  metrics.gauge('srs_requests_at_work', () => [
    { labels: { tier, kind: 'read' }, value: reads.taken },
    { labels: { tier, kind: 'write' }, value: writes.taken },
  ]);
  const reasonToRefuse = (kind: Kind, key: string): 'room' | 'key_share' | 'flood' | undefined => {
    const held = kind.heldBy.get(key) ?? 0;
    if (held >= PLACES_OF_A_FLOOD && kind.floods.isFlooding(key)) return 'flood';
    const all = capacity - reads.taken - writes.taken;
    const free = kind === reads ? readCapacity - reads.taken : all;
    if (all <= 0 || free <= 0) return 'room';
    const isTight = performance.now() < kind.tightUntilMs;
    const maxHeld = (isTight ? HELD_PER_FREE_WHEN_TIGHT : HELD_PER_FREE) * free;
    return held >= maxHeld ? 'key_share' : undefined;
  };
  /** @returns an idempotent function that releases the place. */
  const admit = (kind: Kind, key: string): (() => void) => {
    kind.taken += 1;
    kind.heldBy.set(key, (kind.heldBy.get(key) ?? 0) + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      kind.taken -= 1;
      const left = (kind.heldBy.get(key) ?? 1) - 1;
      if (left > 0) kind.heldBy.set(key, left);
      else kind.heldBy.delete(key);
    };
  };
  app.addHook('onRequest', (request, reply, done) => {
    const kind = request.routeOptions.config.isWrite === true ? writes : reads;
    const key = fairnessKeyOf(request);
    connections?.adopt(request, key);
    const reason = reasonToRefuse(kind, key);
    if (reason !== undefined) {
      metrics.count('srs_overload_refusals_total', { why: reason });
      kind.floods.refused(key);
      noteShed(request, reason);
      reply.hijack();
      const respond = () => refuse(request, reply);
      if (reason === 'flood' && delayed.add(reply.raw, FLOOD_DELAY_MS, respond)) return;
      kind.tightUntilMs = performance.now() + TIGHT_MS;
      respond();
      return;
    }
    const release = admit(kind, key);
    admitted.set(request, release);
    // Fastify does not call onResponse if the client disconnected.
    reply.raw.once('close', () => {
      if (!reply.raw.writableEnded) setTimeout(release, DISCONNECTED_RELEASE_MS).unref();
    });
    done();
  });
  app.addHook('onSend', (request, _reply, _payload, done) => {
    admitted.get(request)?.();
    done();
  });
  // Sends delayed responses before the connections are closed.
  app.addHook('preClose', async () => delayed.flush());
}

/** Bypasses Fastify's serialization and hooks, so that a refusal stays cheap under overload. Keeps headers that are set already. */
function refuseWith(body: string) {
  const head = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'retry-after': '1',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  };
  return (request: FastifyRequest, reply: FastifyReply): void => {
    // Fastify types an absent header as undefined, and Node does not expect one.
    const known = reply.getHeaders() as OutgoingHttpHeaders;
    reply.raw.writeHead(503, { ...known, ...head, 'x-request-id': request.id });
    reply.raw.end(body);
  };
}
