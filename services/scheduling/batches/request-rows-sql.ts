// Builds a statement that serves one request, or a batch of requests of any users, each bound to its own user.
import type { Queryable } from '../../platform/postgres/database.ts';

type RequestStatement<Q> = {
  /** Name of the prepared statement. */
  name: string;
  /** The SQL type of each value of a request. */
  types: { [K in keyof Q]: string };
  /** The SELECT for a request, rows under the alias m; `asked` has the SQL expressions of the request's values. */
  select: (asked: { [K in keyof Q]: string }) => string;
  /** ORDER BY for the rows of a request, on columns of the alias m. */
  order?: string;
  /** LIMIT for the rows of a request. */
  limit?: keyof Q & string;
};

/**
 * Returns a function that runs the statement and returns the rows of each request, in order. A single request is bound directly,
 * so that Citus can route it to one node; several are bound as arrays, one per value.
 */
export function requestRows<Q extends { userId: string }, R>(
  statement: RequestStatement<Q>,
): (db: Queryable, requests: readonly Q[]) => Promise<R[][]> {
  // An object of the mapped type has exactly the keys of Q.
  const names = Object.keys(statement.types) as (keyof Q & string)[];
  const { name } = statement;
  const one = { name, text: textForOne(statement, names) };
  const several = { name: `${name}-several`, text: textForSeveral(statement, names) };
  return async (db, requests) => {
    const [first] = requests;
    if (first === undefined) return [];
    if (requests.length === 1)
      return [await db.query<R>({ ...one, values: names.map((name) => first[name]) })];
    const values = names.map((name) => requests.map((request) => inArray(request[name])));
    const rows = await db.query<R & { number: number }>({ ...several, values });
    const rowsOf: R[][] = requests.map(() => []);
    for (const row of rows) rowsOf[row.number - 1]?.push(row);
    return rowsOf;
  };
}

function textForOne<Q>(statement: RequestStatement<Q>, names: readonly (keyof Q & string)[]): string {
  const asked = expressions<Q>(names, (name, index) => `$${index + 1}::${statement.types[name]}`);
  return ordered(statement, asked);
}

function textForSeveral<Q>(statement: RequestStatement<Q>, names: readonly (keyof Q & string)[]): string {
  const { types, order } = statement;
  const asked = expressions<Q>(names, (name) => `asked.${column(name)}${castOf(types[name])}`);
  const arrays = names.map((name, index) => `$${index + 1}::${elementType(types[name])}[]`);
  return `
    SELECT asked.number::integer AS number, m.*
    FROM unnest(${arrays.join(', ')}) WITH ORDINALITY AS asked (${names.map(column).join(', ')}, number)
    CROSS JOIN LATERAL (${ordered(statement, asked)}) m
    ORDER BY asked.number${order === undefined ? '' : `, ${order}`}`;
}

function ordered<Q>(
  { select, order, limit }: RequestStatement<Q>,
  asked: { [K in keyof Q]: string },
): string {
  const orderBy = order === undefined ? '' : ` ORDER BY ${order}`;
  return `${select(asked)}${orderBy}${limit === undefined ? '' : ` LIMIT ${asked[limit]}`}`;
}

function expressions<Q>(
  names: readonly (keyof Q & string)[],
  toSql: (name: keyof Q & string, index: number) => string,
): { [K in keyof Q]: string } {
  return Object.fromEntries(names.map((name, index) => [name, toSql(name, index)])) as {
    [K in keyof Q]: string;
  };
}

const column = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Encodes nested arrays as text, since unnest flattens arrays of arrays. */
const isArray = (type: string) => type.endsWith('[]');
const elementType = (type: string) => (isArray(type) ? 'text' : type);
const castOf = (type: string) => (isArray(type) ? `::${type}` : '');
const inArray = (value: unknown) => (Array.isArray(value) ? `{${value.join(',')}}` : value);
