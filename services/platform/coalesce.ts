// Makes one call of many that are asked for at the same moment, or while such calls are under way.

/** One that takes longer than this no longer keeps others back: what is slow for some must not be slow for all. */
const PATIENCE_MS = 25;
/** So many are worth a further call while others are under way; fewer wait for more, or until none was sent for so long. */
const WORTH_A_CALL = 8;
const QUIET_MS = 5;

/**
 * A function whose calls reach `callAll` together, at most `max` at a time, and get what it answers in their order: a
 * value, or the error of that one call. What `callAll` throws is every call's. The calls of one turn of the event loop
 * meet; while `atOnce` of `callAll` are under way, further ones gather until one of those has ended, and while any is, a few
 * gather for 5 ms: the busier it is, the more go together, and where nothing is under way nothing waits. When more have
 * gathered than may go, each holder's first goes before anyone's second: whoever asks for much waits behind nobody but
 * themselves. Nothing is remembered.
 */
export function coalesce<Q, R>(
  callAll: (requests: readonly Q[]) => Promise<readonly (R | Error)[]>,
  { max, atOnce, holderOf }: { max: number; atOnce: number; holderOf: (request: Q) => string },
): (request: Q) => Promise<R> {
  let gathered: Asked<Q, R>[] = [];
  let underWay = 0;
  let isScheduled = false;
  let isQuiet = true;
  const quiet = setTimeout(() => {
    isQuiet = true;
    sendAfterThisTurn();
  }, QUIET_MS).unref();
  const enough = Math.min(WORTH_A_CALL, max);
  const maySend = () => {
    if (gathered.length === 0 || underWay >= atOnce) return false;
    return underWay === 0 || isQuiet || gathered.length >= enough;
  };
  const sendAfterThisTurn = () => {
    if (isScheduled || !maySend()) return;
    isScheduled = true;
    // All sockets that have something to read are read first: requests of different connections meet.
    setImmediate(() => {
      isScheduled = false;
      while (maySend()) send(take());
    });
  };
  const take = () => {
    const next = new Set(inTurns(gathered, ({ request }) => holderOf(request)).slice(0, max));
    gathered = gathered.filter((asked) => !next.has(asked));
    return [...next];
  };
  const send = (asked: readonly Asked<Q, R>[]) => {
    underWay += 1;
    isQuiet = false;
    quiet.refresh();
    let isCounted = true;
    const makeRoom = () => {
      if (!isCounted) return;
      isCounted = false;
      underWay -= 1;
      sendAfterThisTurn();
    };
    const timer = setTimeout(makeRoom, PATIENCE_MS);
    void settle(callAll, asked).then(() => {
      clearTimeout(timer);
      makeRoom();
    });
  };
  return (request) => {
    const { promise, resolve, reject } = Promise.withResolvers<R>();
    gathered.push({ request, resolve, reject });
    sendAfterThisTurn();
    return promise;
  };
}

type Asked<Q, R> = { request: Q; resolve: (answer: R) => void; reject: (reason: unknown) => void };

async function settle<Q, R>(
  callAll: (requests: readonly Q[]) => Promise<readonly (R | Error)[]>,
  asked: readonly Asked<Q, R>[],
): Promise<void> {
  try {
    const answers = await callAll(asked.map(({ request }) => request));
    if (answers.length !== asked.length)
      throw new Error(`${asked.length} calls got ${answers.length} answers`);
    for (const [index, answer] of answers.entries()) {
      if (answer instanceof Error) asked[index]?.reject(answer);
      else asked[index]?.resolve(answer);
    }
  } catch (error) {
    for (const { reject } of asked) reject(error);
  }
}

/** Each holder's first, then each one's second, and so on; otherwise in the order in which they came. */
function inTurns<T>(items: readonly T[], holderOf: (item: T) => string): T[] {
  const counts = new Map<string, number>();
  const turnOf = (item: T) => {
    const holder = holderOf(item);
    const turn = counts.get(holder) ?? 0;
    counts.set(holder, turn + 1);
    return turn;
  };
  return [...Map.groupBy(items, turnOf).values()].flat();
}
