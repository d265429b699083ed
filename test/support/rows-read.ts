// How many rows PostgreSQL sends to the services of this process that use one database.
import { Client, type QueryResult } from 'pg';
import { onTestFinished } from 'vitest';

type Answered = (error: Error | null, result?: QueryResult) => void;

/**
 * The most rows that a statement of the services of `databaseUrl` is answered with during `work`. Theirs take a callback, those of
 * tests none. Services of other databases do their own work in this process meanwhile. `userId`: only of statements for that user,
 * where a service has other work of its own.
 */
export async function mostRowsDuring(
  databaseUrl: string,
  work: () => Promise<unknown>,
  userId?: string,
): Promise<number> {
  const { query } = Client.prototype;
  const { database } = new Client({ connectionString: databaseUrl });
  let most = 0;
  function counting(this: Client, statement: unknown, ...others: unknown[]): unknown {
    const answered = others.at(-1);
    const { values } = Object(statement) as { values?: unknown[] };
    const isOther = userId !== undefined && values?.includes(userId) !== true;
    if (typeof answered !== 'function' || this.database !== database || isOther)
      return Reflect.apply(query, this, [statement, ...others]);
    const counted: Answered = (error, result) => {
      most = Math.max(most, result?.rows.length ?? 0);
      (answered as Answered)(error, result);
    };
    return Reflect.apply(query, this, [statement, ...others.slice(0, -1), counted]);
  }
  const stop = () => void Object.assign(Client.prototype, { query });
  onTestFinished(stop);
  Object.assign(Client.prototype, { query: counting });
  await work();
  stop();
  return most;
}
