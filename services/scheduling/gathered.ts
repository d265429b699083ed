// Batches concurrent statements: items that arrive at the same moment share one. Callers pass a single item.
import { hasReason } from '../platform/errors.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import { isEnded } from '../platform/postgres/faults.ts';
import { snakeCase } from '../platform/text.ts';

type OfUser = { userId: string };

/** Turns a query for many items, of any users and with results in their order, into a function for a single item. */
export type Gathered = <Q extends OfUser, R>(
  run: (db: Queryable, items: readonly Q[]) => Promise<readonly R[]>,
) => (item: Q) => Promise<R>;

/** Items of a statement. */
const MAX_ITEMS = 16;
/** Statements of a function at once; while they run, further items gather. */
const MAX_STATEMENTS = 3;
/** A statement that takes longer no longer counts as running, so that a cold disk does not hold up the others. */
const SLOW_MS = 25;

/**
 * Runs the statements on `database`. While fewer than three run, an item waits at most one turn of the event loop. If
 * more items wait than fit in a statement, each user's first item goes before anyone's second. If a shared statement
 * fails, or the server cancels it because one item makes it slow, each item is tried again alone. If the database is
 * unavailable, nothing is tried again, since the outcome may be unknown. `isDistributed`: each item has its own
 * statement, which goes to the node of its user.
 */
export function gatheredOn(database: Queryable, { isDistributed }: { isDistributed: boolean }): Gathered {
  return <Q extends OfUser, R>(run: (db: Queryable, items: readonly Q[]) => Promise<readonly R[]>) => {
    const alone = async (item: Q) => resultAt(await run(database, [item]), 0);
    return isDistributed ? alone : gather((items: readonly Q[]) => run(database, items), alone);
  };
}

function gather<Q extends OfUser, R>(
  together: (items: readonly Q[]) => Promise<readonly R[]>,
  alone: (item: Q) => Promise<R>,
): (item: Q) => Promise<R> {
  type Waiting = { item: Q; resolve: (result: Promise<R>) => void };
  let waiting: Waiting[] = [];
  let running = 0;
  let isScheduled = false;
  const schedule = () => {
    if (isScheduled || waiting.length === 0) return;
    isScheduled = true;
    // Node.js first reads all sockets that have data, so that requests of different connections share a statement.
    setImmediate(() => {
      isScheduled = false;
      while (running < MAX_STATEMENTS && waiting.length > 0) {
        const inTurn = waiting.length > MAX_ITEMS ? roundRobin(waiting) : waiting;
        waiting = inTurn.slice(MAX_ITEMS);
        send(inTurn.slice(0, MAX_ITEMS));
      }
    });
  };
  const send = (batch: readonly Waiting[]) => {
    running += 1;
    let isCounted = true;
    const leave = () => {
      if (!isCounted) return;
      isCounted = false;
      running -= 1;
      schedule();
    };
    const timer = setTimeout(leave, SLOW_MS);
    const items = batch.map(({ item }) => item);
    const results = together(items).catch((error: unknown) => {
      const isUnknown = hasReason(error, 'UNAVAILABLE') && !isEnded(error);
      if (items.length === 1 || isUnknown) throw error;
    });
    for (const [index, { item, resolve }] of batch.entries())
      resolve(results.then((found) => (found === undefined ? alone(item) : resultAt(found, index))));
    const end = () => {
      clearTimeout(timer);
      leave();
    };
    results.then(end, end);
  };
  return (item) => {
    const { promise, resolve } = Promise.withResolvers<R>();
    waiting.push({ item, resolve });
    schedule();
    return promise;
  };
}

function resultAt<R>(results: readonly R[], index: number): R {
  if (index >= results.length) throw new Error('there are fewer results than items');
  // undefined is a result of its own, as of a material that does not exist.
  return results[index] as R;
}

/** Each user's first, then each one's second, and so on; otherwise in the order in which they came. */
function roundRobin<T extends { item: OfUser }>(waiting: readonly T[]): T[] {
  const counts = new Map<string, number>();
  const turnOf = ({ item: { userId } }: T) => {
    const turn = counts.get(userId) ?? 0;
    counts.set(userId, turn + 1);
    return turn;
  };
  return [...Map.groupBy(waiting, turnOf).values()].flat();
}

/** SQL expressions of the values of an item. */
type Expressions<Q> = { [K in keyof Q]: string };

type ItemStatement<Q> = {
  /** Name of the prepared statement. */
  name: string;
  /** The SQL type of each value of an item. */
  types: Expressions<Q>;
  /** The SELECT for an item, its rows under the alias m. */
  select: (item: Expressions<Q>) => string;
  /** ORDER BY for the rows of an item, on columns of the alias m; and their LIMIT. */
  order?: string;
  limit?: keyof Q & string;
  /** What is returned of the rows, where that depends on all rows of the item: `window` is the item's, in its order. Default: m.* */
  columns?: (item: Expressions<Q>, window: string) => string;
};

/**
 * Returns a function that runs the statement and returns the rows of each item, in order. A single item is bound directly, so that
 * Citus can route it to one node; several are bound as arrays, one per value, and each is bound to its own user.
 */
export function rowsOfItems<Q extends OfUser, R>(
  statement: ItemStatement<Q>,
): (db: Queryable, items: readonly Q[]) => Promise<R[][]> {
  // An object of the mapped type has exactly the keys of Q.
  const names = Object.keys(statement.types) as (keyof Q & string)[];
  const { name } = statement;
  const one = { name, text: textForOne(statement, names) };
  const several = { name: `${name}-several`, text: textForSeveral(statement, names) };
  return async (db, items) => {
    const [first] = items;
    if (first === undefined) return [];
    if (items.length === 1) return [await db.query<R>({ ...one, values: names.map((name) => first[name]) })];
    const values = names.map((name) => items.map((item) => item[name]));
    const rows = await db.query<R & { number: number }>({ ...several, values });
    const rowsOf: R[][] = items.map(() => []);
    for (const row of rows) rowsOf[row.number - 1]?.push(row);
    return rowsOf;
  };
}

function textForOne<Q>(statement: ItemStatement<Q>, names: readonly (keyof Q & string)[]): string {
  const { types, order, columns } = statement;
  const item = expressions<Q>(names, (name, index) => `$${index + 1}::${types[name]}`);
  const rows = rowsOf(statement, item);
  if (columns === undefined) return rows;
  return `SELECT ${columns(item, orderBy(order))} FROM (${rows}) m ${orderBy(order)}`;
}

function textForSeveral<Q>(statement: ItemStatement<Q>, names: readonly (keyof Q & string)[]): string {
  const { types, order, columns } = statement;
  const item = expressions<Q>(names, (name) => `item.${snakeCase(name)}`);
  // In subqueries, since PostgreSQL would plan for the length of plain array parameters, and so anew for each call.
  const arrays = names.map((name, index) => `(SELECT $${index + 1}::${types[name]}[])`);
  const shown = columns?.(item, `PARTITION BY item.number ${orderBy(order)}`) ?? 'm.*';
  return `
    SELECT item.number::integer AS number, ${shown}
    FROM unnest(${arrays.join(', ')}) WITH ORDINALITY AS item (${names.map(snakeCase).join(', ')}, number)
    CROSS JOIN LATERAL (${rowsOf(statement, item)}) m
    ORDER BY item.number${order === undefined ? '' : `, ${order}`}`;
}

function rowsOf<Q>({ select, order, limit }: ItemStatement<Q>, item: Expressions<Q>): string {
  return `${select(item)} ${orderBy(order)}${limit === undefined ? '' : ` LIMIT ${item[limit]}`}`;
}

const orderBy = (order: string | undefined) => (order === undefined ? '' : `ORDER BY ${order}`);

function expressions<Q>(
  names: readonly (keyof Q & string)[],
  toSql: (name: keyof Q & string, index: number) => string,
): Expressions<Q> {
  return Object.fromEntries(names.map((name, index) => [name, toSql(name, index)])) as Expressions<Q>;
}
