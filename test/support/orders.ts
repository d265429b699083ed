// Rows that are alike but for their ids, and databases that read no index: what lists need to show that they sort to the last key.
import type { Client } from 'pg';

export const idOf = (number: number) => `00000000-0000-7000-8000-${String(number).padStart(12, '0')}`;
/** 20 ids, and how they are stored: in neither direction. */
export const IDS = Array.from({ length: 20 }, (_, index) => idOf(index));
export const STORED = IDS.map((_, index) => idOf((index * 7) % 20));

/** From the next connection to the database on, PostgreSQL avoids these ways and no others. */
export async function turnOff(sql: Client, ways: readonly string[]): Promise<void> {
  const { rows } = await sql.query<{ name: string }>('SELECT current_database() AS name');
  const alter = `ALTER DATABASE ${rows[0]?.name}`;
  await sql.query(`${alter} RESET ALL`);
  for (const way of ways) await sql.query(`${alter} SET enable_${way} = off`);
}

/** Ids of all pages of three. */
export async function pages<P extends { nextPageToken: string }>(
  read: (page: { pageSize: number; pageToken: string }) => Promise<P>,
  ids: (page: P) => (string | undefined)[],
): Promise<(string | undefined)[]> {
  const found: (string | undefined)[] = [];
  for (let pageToken = ''; ; ) {
    const page = await read({ pageSize: 3, pageToken });
    found.push(...ids(page));
    pageToken = page.nextPageToken;
    if (pageToken === '') return found;
  }
}
