// Copies a database in use: all rows once, and then again those that have changed, until none has.
import type { Client } from 'pg';
import { forget, nextChanges } from './changes.ts';
import { copyTable, deleteRow, findRows, storeRows, type Table } from './tables.ts';

const SNAPSHOT = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';

/** All rows, as of one instant. Recording has begun before. `onTable` gets the number of rows of each. */
export async function copyAll(
  source: Client,
  target: Client,
  tables: readonly Table[],
  onTable: (table: Table, rows: number) => void,
): Promise<void> {
  await source.query(SNAPSHOT);
  for (const table of tables) onTable(table, await copyTable(source, target, table));
  await source.query('COMMIT');
}

/**
 * Copies the rows that have changed since the last round, as they are now. So a round can be repeated, and the order of changes
 * does not matter. @returns the number of rows; undefined if nothing has changed.
 */
export async function copyChanges(
  source: Client,
  target: Client,
  tables: readonly Table[],
): Promise<number | undefined> {
  // Only flushed changes are decoded: one that is written, but not flushed yet, would be forgotten unread.
  const { rows: now } = await source.query<{ lsn: string }>('SELECT pg_current_wal_flush_lsn()::text AS lsn');
  const { keys, transactionIds, endLsn } = await nextChanges(source);
  if (endLsn === undefined) {
    if (now[0] !== undefined) await forget(source, now[0].lsn);
    return undefined;
  }
  await openSnapshotAfter(source, transactionIds);
  const changed: { table: Table; rows: string[]; gone: string[] }[] = [];
  for (const table of tables) {
    const wanted = keys.get(table.oid) ?? new Set<string>();
    if (wanted.size === 0) continue;
    const found = await findRows(source, table, [...wanted]);
    const present = new Set(found.map(({ key }) => canonical(key)));
    const gone = [...wanted].filter((key) => !present.has(canonical(key)));
    changed.push({ table, rows: found.map(({ row }) => row), gone });
  }
  await source.query('COMMIT');
  await target.query('BEGIN');
  // Those that refer to others first.
  for (const { table, gone } of changed.toReversed())
    for (const key of gone) await deleteRow(target, table, key);
  for (const { table, rows } of changed) await storeRows(target, table, rows);
  await target.query('COMMIT');
  await forget(source, endLsn);
  return changed.reduce((sum, { rows, gone }) => sum + rows.length + gone.length, 0);
}

/** What the snapshot does not see: what is in progress, and all that began later. Ids without their epoch, as the log has them. */
const UNSEEN = `
  SELECT (pg_snapshot_xmax(s)::text::numeric % 4294967296)::float8 AS begin,
    ARRAY(SELECT (xid::text::numeric % 4294967296)::float8 FROM pg_snapshot_xip(s) AS xid) AS running
  FROM pg_current_snapshot() AS s`;

/** A commit is in the log a moment before others see it. */
async function openSnapshotAfter(source: Client, transactionIds: ReadonlySet<number>): Promise<void> {
  for (;;) {
    await source.query(SNAPSHOT);
    const [unseen] = (await source.query<{ begin: number; running: number[] }>(UNSEEN)).rows;
    if (unseen === undefined) throw new Error('the database returned no row');
    const isUnseen = (id: number) => unseen.running.includes(id) || (id - unseen.begin) >>> 0 < 2 ** 31;
    if (![...transactionIds].some(isUnseen)) return;
    await source.query('COMMIT');
  }
}

const canonical = (key: string) =>
  JSON.stringify(Object.entries(JSON.parse(key)).toSorted(([one], [other]) => (one < other ? -1 : 1)));
