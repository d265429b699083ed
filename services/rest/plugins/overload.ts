// Refuses requests beyond what can be answered in time (503), before any work is done for them.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ERROR_CATALOGUE, ServiceError } from '../../platform/errors.ts';
import { type Metrics, NO_METRICS } from '../../platform/ops/metrics.ts';
import { toErrorResponse } from './errors.ts';
import { createFloodWatch, type FloodWatch } from './flood-watch.ts';

/**
 * Requests at work at once, and how many of them may be reads: the rest is kept for writes, which people cannot repeat.
 * Measured: twice as many made nothing more of the machine, and those who were refused waited twice as long to be told.
 */
const ROOM = 128;
const ROOM_FOR_READS = 96;
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

/** Its place is free again once it is answered and its client has the answer or is gone: both, in either order. */
type Admitted = { kind: Kind; holder: string; isAnswered: boolean; isGone: boolean };

const BODY = JSON.stringify(toErrorResponse(new ServiceError('UNAVAILABLE')));
const HEAD = {
  'content-type': 'application/json; charset=utf-8',
  'content-length': Buffer.byteLength(BODY),
  'retry-after': '1',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
};

/**
 * To be registered before every hook that does work. `holderOf` tells whose share a request counts in, from its head
 * alone: it must be cheap, since it is asked of those who are refused as well. Refusals are counted and not logged: what is
 * too much already must not be made more.
 */
export function registerOverloadGuard(
  app: FastifyInstance,
  { holderOf, metrics = NO_METRICS }: { holderOf: (request: FastifyRequest) => string; metrics?: Metrics },
): void {
  const [reads, writes] = [createKind(), createKind()];
  const admitted = new WeakMap<FastifyRequest, Admitted>();
  const waiting = new Set<() => void>();
  metrics.gauge('srs_requests_at_work', () => [
    { labels: { kind: 'read' }, value: reads.taken },
    { labels: { kind: 'write' }, value: writes.taken },
  ]);
  const reasonToRefuse = (kind: Kind, holder: string): 'room' | 'key_share' | 'flood' | undefined => {
    const held = kind.heldBy.get(holder) ?? 0;
    if (held >= PLACES_OF_A_FLOOD && kind.floods.isFlooding(holder)) return 'flood';
    const all = ROOM - reads.taken - writes.taken;
    const free = kind === reads ? ROOM_FOR_READS - reads.taken : all;
    if (all <= 0 || free <= 0) return 'room';
    const isTight = performance.now() < kind.tightUntilMs;
    const most = (isTight ? HELD_PER_FREE_WHEN_TIGHT : HELD_PER_FREE) * free;
    return held >= most ? 'key_share' : undefined;
  };
  const admit = (request: FastifyRequest, entry: Admitted) => {
    const { kind, holder } = entry;
    kind.taken += 1;
    kind.heldBy.set(holder, (kind.heldBy.get(holder) ?? 0) + 1);
    admitted.set(request, entry);
  };
  const releaseIfDone = ({ kind, holder, isAnswered, isGone }: Admitted) => {
    if (!isAnswered || !isGone) return;
    kind.taken -= 1;
    const left = (kind.heldBy.get(holder) ?? 1) - 1;
    if (left > 0) kind.heldBy.set(holder, left);
    else kind.heldBy.delete(holder);
  };
  app.addHook('onRequest', (request, reply, done) => {
    const kind = request.routeOptions.config.isWrite === true ? writes : reads;
    const holder = holderOf(request);
    const reason = reasonToRefuse(kind, holder);
    if (reason !== undefined) {
      metrics.count('srs_overload_refusals_total', { why: reason });
      kind.floods.refused(holder);
      reply.hijack();
      if (reason === 'flood' && waiting.size < MOST_WAITING) {
        refuseLater(request, reply, waiting);
        return;
      }
      kind.tightUntilMs = performance.now() + TIGHT_MS;
      refuse(request, reply);
      return;
    }
    const entry = { kind, holder, isAnswered: false, isGone: false };
    admit(request, entry);
    // Not the onResponse hook: it is never called where the client has hung up.
    reply.raw.once('close', () => {
      entry.isGone = true;
      releaseIfDone(entry);
    });
    done();
  });
  app.addHook('onSend', (request, _reply, _payload, done) => {
    const entry = admitted.get(request);
    if (entry !== undefined && !entry.isAnswered) {
      entry.isAnswered = true;
      releaseIfDone(entry);
    }
    done();
  });
  // Who waits to be told is told before the connections are closed.
  app.addHook('preClose', (done) => {
    for (const tell of waiting) tell();
    done();
  });
}

function refuseLater(request: FastifyRequest, reply: FastifyReply, waiting: Set<() => void>): void {
  const tell = () => refuse(request, reply);
  const timer = setTimeout(tell, TOLD_AFTER_MS);
  waiting.add(tell);
  // Told, or gone before.
  reply.raw.once('close', () => {
    clearTimeout(timer);
    waiting.delete(tell);
  });
}

/** Past everything that answers usually pass through: at twice what can be done, the half that is not done must cost little. */
function refuse(request: FastifyRequest, reply: FastifyReply): void {
  reply.raw.writeHead(ERROR_CATALOGUE.UNAVAILABLE.httpStatus, { ...HEAD, 'x-request-id': request.id });
  reply.raw.end(BODY);
}
