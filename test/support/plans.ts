// How PostgreSQL runs the statements of a function.
import type { Client } from 'pg';
import type { Queryable } from '../../services/platform/postgres/database.ts';

/**
 * `db` runs statements, and keeps them, and by their names how they run without what is `off`: of a few rows, to sort them costs as
 * little.
 */
export function explainOn(sql: Client, off: readonly ('seqscan' | 'bitmapscan' | 'sort')[] = []) {
  const plans = new Map<string, string>();
  const texts: string[] = [];
  const db: Queryable = {
    async query({ name = '', text, values }) {
      texts.push(text);
      for (const kind of off) await sql.query(`SET enable_${kind} = off`);
      const { rows } = await sql.query(`EXPLAIN ${text}`, [...values]);
      for (const kind of off) await sql.query(`RESET enable_${kind}`);
      plans.set(name, rows.map((row) => row['QUERY PLAN']).join('\n'));
      return (await sql.query(text, [...values])).rows;
    },
  };
  return { db, plans, texts };
}
