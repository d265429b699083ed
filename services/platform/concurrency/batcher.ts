// Gathers requests of the same moment, or that come while others are under way, into batches.

/** A batch that takes longer than this makes room for others: what is slow for some must not be slow for all. */
const SLOW_MS = 25;

type BatcherOptions<Q> = {
  /** Requests in a batch, at most; 1: each is sent by itself, at once. */
  maxSize: number;
  /** Batches under way at once; while they are, further requests gather. */
  maxInFlight: number;
  fairnessKeyOf: (request: Q) => string;
  /** Requests of a key under way at once; its others wait until one of them is answered. Default: any number. */
  maxPerKey?: number;
};

/**
 * A function whose requests reach `sendBatch` together; each gets its own answer or error as soon as that is there. Where fewer than
 * `maxInFlight` batches are under way nobody waits longer than a turn of the event loop. When more have gathered than a batch may
 * hold, the first of each fairness key goes before anyone's second. Nothing is remembered.
 */
export function createBatcher<Q, R>(
  sendBatch: (requests: readonly Q[]) => readonly Promise<R>[],
  { maxSize, maxInFlight, fairnessKeyOf, maxPerKey = Number.POSITIVE_INFINITY }: BatcherOptions<Q>,
): (request: Q) => Promise<R> {
  let waiting: Waiting<Q, R>[] = [];
  let inFlight = 0;
  /** Requests under way of each key. */
  const underWay = new Map<string, number>();
  let isScheduled = false;
  const schedule = () => {
    if (isScheduled) return;
    isScheduled = true;
    // All sockets that have something to read are read first: requests of different connections meet.
    setImmediate(() => {
      isScheduled = false;
      while (inFlight < maxInFlight) {
        const batch = take();
        if (batch.length === 0) return;
        send(batch);
      }
    });
  };
  const take = () => {
    const next = new Set<Waiting<Q, R>>();
    for (const each of roundRobin(waiting, ({ request }) => fairnessKeyOf(request))) {
      if (next.size === maxSize) break;
      const key = fairnessKeyOf(each.request);
      const own = underWay.get(key) ?? 0;
      if (own >= maxPerKey) continue;
      underWay.set(key, own + 1);
      next.add(each);
    }
    waiting = waiting.filter((each) => !next.has(each));
    return [...next];
  };
  const leave = (key: string) => {
    const own = underWay.get(key) ?? 0;
    if (own > 1) underWay.set(key, own - 1);
    else underWay.delete(key);
    if (waiting.length > 0) schedule();
  };
  const send = (batch: readonly Waiting<Q, R>[]) => {
    inFlight += 1;
    let isCounted = true;
    const makeRoom = () => {
      if (!isCounted) return;
      isCounted = false;
      inFlight -= 1;
      schedule();
    };
    const timer = setTimeout(makeRoom, SLOW_MS);
    const answers = startAll(sendBatch, batch);
    for (const [index, { request, resolve }] of batch.entries()) {
      const answer = answers[index] ?? unanswered();
      resolve(answer.finally(() => leave(fairnessKeyOf(request))));
    }
    void Promise.allSettled(answers).then(() => {
      clearTimeout(timer);
      makeRoom();
    });
  };
  if (maxSize === 1) return (request) => startAll(sendBatch, [{ request }])[0] ?? unanswered();
  return (request) => {
    const { promise, resolve } = Promise.withResolvers<R>();
    waiting.push({ request, resolve });
    schedule();
    return promise;
  };
}

type Waiting<Q, R> = { request: Q; resolve: (answer: Promise<R>) => void };

/** What `sendBatch` throws is the answer of each. */
function startAll<Q, R>(
  sendBatch: (requests: readonly Q[]) => readonly Promise<R>[],
  batch: readonly { request: Q }[],
): readonly Promise<R>[] {
  try {
    return sendBatch(batch.map(({ request }) => request));
  } catch (error) {
    return batch.map(() => Promise.reject(error));
  }
}

const unanswered = () => Promise.reject(new Error('a batch has fewer answers than requests'));

/** Each key's first, then each one's second, and so on; otherwise in the order in which they came. */
function roundRobin<T>(items: readonly T[], keyOf: (item: T) => string): T[] {
  const counts = new Map<string, number>();
  const turnOf = (item: T) => {
    const key = keyOf(item);
    const turn = counts.get(key) ?? 0;
    counts.set(key, turn + 1);
    return turn;
  };
  return [...Map.groupBy(items, turnOf).values()].flat();
}
