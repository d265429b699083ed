// Refuses requests beyond what can be answered in time (503), before any work is done for them.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createFloodWatch, type FloodWatch } from './flood-watch.ts';
import type { Connections } from './http-connections.ts';
import { noteShed } from './http-request.ts';
import { type Metrics, NO_METRICS } from './ops/metrics.ts';

/**
 * How many places a key may hold for each that is free: alone it gets three quarters of the room, several leave some to each
 * other, and who holds none gets the last one. This is how switches share their buffers among ports: dynamic thresholds,
 * Choudhury and Hahne, IEEE/ACM Transactions on Networking 6 (1998).
 */
const HELD_PER_FREE = 3;
/** The same for a while after a refusal: a burst may take most of what is there, what goes on leaves four fifths to others. */
const HELD_PER_FREE_WHEN_TIGHT = 0.25;
const TIGHT_MS = 1000;
/** Of each kind, for a key that floods. */
const PLACES_OF_A_FLOOD = 1;
/**
 * When a flood is told so: a connection waits for its answer before it asks again, so it asks once a second and not hundreds of
 * times. To refuse is cheap, but what a flood asks for is not bounded by what the machine can do.
 */
const TOLD_AFTER_MS = 1000;
/** Beyond it they are told at once, since each that waits takes memory. */
const MOST_WAITING = 1000;

/** Reads and writes are counted apart: a key whose writes hang must not lose its reads. */
type Kind = { taken: number; heldBy: Map<string, number>; tightUntilMs: number; floods: FloodWatch };
const createKind = (): Kind => ({
  taken: 0,
  heldBy: new Map(),
  tightUntilMs: 0,
  floods: createFloodWatch(() => performance.now()),
});

/** After a client has hung up, its place is free again once its work is answered, or after so long where it never is. */
const GONE_MS = 10_000;

export type Admission = {
  /** The application, as metrics name it. */
  tier: string;
  /** Requests at work at once. */
  room: number;
  /** How many of them may be reads: the rest is kept for writes, which people cannot repeat. Default: `room`. */
  roomForReads?: number;
  /** Whose share a request counts in. Called once a request is known to be somebody's. */
  holderOf(request: FastifyRequest): string;
  /** Told whose a connection is. */
  connections?: Connections;
  /** The JSON that says 503. */
  refusal: string;
  metrics?: Metrics;
};

/**
 * To be registered behind authentication: who is nobody takes no place. A place is free again as soon as the answer is handed
 * over; what waits to be read is bounded elsewhere (http-unread.ts). Refusals are counted, and neither timed nor logged: what
 * is too much already must not be made more.
 */
export function registerAdmission(app: FastifyInstance, admission: Admission): void {
  const { tier, room, roomForReads = room, holderOf, connections, refusal, metrics = NO_METRICS } = admission;
  const refuse = refuseWith(refusal);
  const [reads, writes] = [createKind(), createKind()];
  const admitted = new WeakMap<FastifyRequest, () => void>();
  const waiting = new Set<() => void>();
  metrics.gauge('srs_requests_at_work', () => [
    { labels: { tier, kind: 'read' }, value: reads.taken },
    { labels: { tier, kind: 'write' }, value: writes.taken },
  ]);
  const reasonToRefuse = (kind: Kind, holder: string): 'room' | 'key_share' | 'flood' | undefined => {
    const held = kind.heldBy.get(holder) ?? 0;
    if (held >= PLACES_OF_A_FLOOD && kind.floods.isFlooding(holder)) return 'flood';
    const all = room - reads.taken - writes.taken;
    const free = kind === reads ? roomForReads - reads.taken : all;
    if (all <= 0 || free <= 0) return 'room';
    const isTight = performance.now() < kind.tightUntilMs;
    const most = (isTight ? HELD_PER_FREE_WHEN_TIGHT : HELD_PER_FREE) * free;
    return held >= most ? 'key_share' : undefined;
  };
  /** @returns what gives the place back, once. */
  const admit = (kind: Kind, holder: string): (() => void) => {
    kind.taken += 1;
    kind.heldBy.set(holder, (kind.heldBy.get(holder) ?? 0) + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      kind.taken -= 1;
      const left = (kind.heldBy.get(holder) ?? 1) - 1;
      if (left > 0) kind.heldBy.set(holder, left);
      else kind.heldBy.delete(holder);
    };
  };
  app.addHook('onRequest', (request, reply, done) => {
    const kind = request.routeOptions.config.isWrite === true ? writes : reads;
    const holder = holderOf(request);
    connections?.adopt(request, holder);
    const reason = reasonToRefuse(kind, holder);
    if (reason !== undefined) {
      metrics.count('srs_overload_refusals_total', { why: reason });
      kind.floods.refused(holder);
      noteShed(request);
      reply.hijack();
      if (reason === 'flood' && waiting.size < MOST_WAITING) {
        refuseLater(reply, waiting, () => refuse(request, reply));
        return;
      }
      kind.tightUntilMs = performance.now() + TIGHT_MS;
      refuse(request, reply);
      return;
    }
    const release = admit(kind, holder);
    admitted.set(request, release);
    // Not the onResponse hook: it is never called where the client has hung up, and then perhaps nobody answers.
    reply.raw.once('close', () => {
      if (!reply.raw.writableEnded) setTimeout(release, GONE_MS).unref();
    });
    done();
  });
  app.addHook('onSend', (request, _reply, _payload, done) => {
    admitted.get(request)?.();
    done();
  });
  // Who waits to be told is told before the connections are closed.
  app.addHook('preClose', (done) => {
    for (const tell of waiting) tell();
    done();
  });
}

function refuseLater(reply: FastifyReply, waiting: Set<() => void>, tell: () => void): void {
  const timer = setTimeout(tell, TOLD_AFTER_MS);
  waiting.add(tell);
  // Told, or gone before.
  reply.raw.once('close', () => {
    clearTimeout(timer);
    waiting.delete(tell);
  });
}

/** Past everything that answers usually pass through: at twice what can be done, the half that is not done must cost little. */
function refuseWith(body: string) {
  const head = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'retry-after': '1',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  };
  return (request: FastifyRequest, reply: FastifyReply): void => {
    reply.raw.writeHead(503, { ...head, 'x-request-id': request.id });
    reply.raw.end(body);
  };
}
