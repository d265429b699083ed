// All that the database holds of a user, to compare: of every table that there is, also of those made later.
import type { Client } from 'pg';

/** Rows as JSON text, by table. */
export async function rowsOf(sql: Client, userId: string): Promise<Record<string, string[]>> {
  const { rows: tables } = await sql.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.columns
     WHERE table_schema = 'scheduling' AND column_name = 'user_id' ORDER BY 1`,
  );
  const rows: Record<string, string[]> = {};
  for (const { name } of tables) {
    const text = `SELECT to_jsonb(t)::text AS row FROM scheduling.${name} t WHERE user_id = $1 ORDER BY 1`;
    rows[name] = (await sql.query<{ row: string }>(text, [userId])).rows.map(({ row }) => row);
  }
  return rows;
}
