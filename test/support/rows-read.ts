// The rows that PostgreSQL sends to the services of this process that use one database.
import { Client, type QueryResult } from 'pg';
import { onTestFinished } from 'vitest';

type Answered = (error: Error | null, result?: QueryResult) => void;

/** The most rows that a statement is answered with during `work`, of those that `answersDuring` sees. */
export async function mostRowsDuring(
  databaseUrl: string,
  work: () => Promise<unknown>,
  userId?: string,
): Promise<number> {
  let most = 0;
  const count = (rows: readonly unknown[]) => {
    most = Math.max(most, rows.length);
  };
  await answersDuring(databaseUrl, count, work, userId);
  return most;
}

/**
 * Calls `see` with the rows of each statement of the services of `databaseUrl` during `work`. Theirs take a callback, those of
 * tests none. Services of other databases do their own work in this process meanwhile. `userId`: only of statements for that user,
 * where a service has other work of its own.
 */
export async function answersDuring(
  databaseUrl: string,
  see: (rows: readonly unknown[]) => void,
  work: () => Promise<unknown>,
  userId?: string,
): Promise<void> {
  const { query } = Client.prototype;
  const { database } = new Client({ connectionString: databaseUrl });
  function listening(this: Client, statement: unknown, ...others: unknown[]): unknown {
    const answered = others.at(-1);
    const { values } = Object(statement) as { values?: unknown[] };
    const isOther = userId !== undefined && values?.includes(userId) !== true;
    if (typeof answered !== 'function' || this.database !== database || isOther)
      return Reflect.apply(query, this, [statement, ...others]);
    const seen: Answered = (error, result) => {
      see(result?.rows ?? []);
      (answered as Answered)(error, result);
    };
    return Reflect.apply(query, this, [statement, ...others.slice(0, -1), seen]);
  }
  const stop = () => void Object.assign(Client.prototype, { query });
  onTestFinished(stop);
  Object.assign(Client.prototype, { query: listening });
  await work();
  stop();
}
