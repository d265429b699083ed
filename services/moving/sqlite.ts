// Opens an untrusted SQLite database so that nothing in it runs: no trigger, no view, no virtual table, no index of its own.
import { open } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { errorCode, toError } from '../platform/thrown.ts';
import { unreadable } from './unreadable.ts';

export type Row = Record<string, string | number | bigint | null | Uint8Array>;

/** A read-only database. `rows` reads one at a time. */
export type Tables = {
  names: ReadonlySet<string>;
  rows(sql: string, ...values: (string | number)[]): Generator<Row>;
  close(): void;
};

const MAGIC = 'SQLite format 3\0';
/** Of a cell that is read. */
export const MAX_CELL_BYTES = 16 * 1024 * 1024;
const LIMITS = { length: 2 * MAX_CELL_BYTES, attach: 0, triggerDepth: 1 };
const UNICASE = /collate\s+["'`[]?unicase["'`\]]?/gi;

/** Whether these are the first bytes of a SQLite database. */
export function isSqlite(head: Buffer): boolean {
  return head.toString('latin1', 0, MAGIC.length) === MAGIC;
}

/**
 * Opens the database at `path`, which is a copy of ours: its indexes, triggers and views are taken out first, and with them the
 * collation `unicase`, which only Anki has.
 * @throws INVALID_REQUEST if it is damaged, or one of `required` is not an ordinary table.
 */
export async function openTables(path: string, required: readonly string[]): Promise<Tables> {
  await prepare(path);
  const names = wrapped(() => disarm(path, required));
  const database = new DatabaseSync(path, { readOnly: true, limits: LIMITS });
  database.exec('PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA cache_size = -16000');
  return {
    names,
    *rows(sql, ...values) {
      const rows = wrapped(() => database.prepare(sql).iterate(...values));
      for (;;) {
        const next = wrapped(() => rows.next());
        if (next.done) return;
        yield next.value as Row;
      }
    },
    close: () => database.close(),
  };
}

/** SQL of an integer: whatever the cell has, within what a number of JavaScript can hold exactly. */
export function integer(column: string): string {
  return `max(min(CAST(${column} AS INTEGER), ${Number.MAX_SAFE_INTEGER}), ${Number.MIN_SAFE_INTEGER})`;
}

/** SQL of a text; NULL where it has more than `maxBytes`, which is told without reading it. */
export function text(column: string, maxBytes = MAX_CELL_BYTES): string {
  return `CASE WHEN octet_length(${column}) <= ${maxBytes} THEN CAST(${column} AS TEXT) END`;
}

/** Where the header has what is needed of it, in bytes. */
const HEADER = { length: 100, pageSize: 16, writeVersion: 18, changes: 24, pages: 28, changesOfPages: 92 };

/** Checks that the file is as long as its header says, and marks it as one without a write-ahead log, which would be beside it. */
async function prepare(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    const head = Buffer.alloc(HEADER.length);
    await file.read(head, 0, head.length, 0);
    if (!isSqlite(head)) throw unreadable('The collection is not a SQLite database.');
    const size = head.readUInt16BE(HEADER.pageSize);
    const bytes = (size === 1 ? 65_536 : size) * head.readUInt32BE(HEADER.pages);
    const isCounted = head.readUInt32BE(HEADER.changes) === head.readUInt32BE(HEADER.changesOfPages);
    if (isCounted && (await file.stat()).size < bytes)
      throw unreadable('The database is cut off. Nothing was imported.');
    await file.write(Buffer.from([1, 1]), 0, 2, HEADER.writeVersion);
  } finally {
    await file.close();
  }
}

/** @returns the names of the tables that remain. */
function disarm(path: string, required: readonly string[]): Set<string> {
  const database = new DatabaseSync(path, {
    defensive: false,
    limits: LIMITS,
    enableForeignKeyConstraints: false,
  });
  try {
    database.exec('PRAGMA trusted_schema = OFF; PRAGMA journal_mode = MEMORY; PRAGMA writable_schema = ON');
    const names = new Set<string>();
    const rewritten: { sql: string; name: string }[] = [];
    const schema = database.prepare(
      `SELECT type, name, ${text('sql')} AS sql FROM sqlite_schema WHERE type IN ('table', 'view') LIMIT 10000`,
    );
    for (const { type, name, sql } of schema.iterate()) {
      const isTable = type === 'table' && typeof sql === 'string' && /^create\s+table/i.test(sql);
      if (isTable) names.add(`${name}`);
      else if (required.includes(`${name}`))
        throw unreadable(`"${name}" is not an ordinary table. Nothing was imported.`);
      if (!isTable) continue;
      const plain = sql.replaceAll(UNICASE, '');
      if (plain !== sql) rewritten.push({ sql: plain, name: `${name}` });
    }
    const missing = required.find((name) => !names.has(name));
    if (missing !== undefined) throw unreadable(`The database has no table "${missing}".`);
    // Indexes without a text of their own belong to their table.
    database.exec(`DELETE FROM sqlite_schema WHERE type IN ('trigger', 'view')
      OR (type = 'index' AND sql IS NOT NULL) OR (type = 'table' AND sql LIKE 'create virtual%') OR name LIKE 'sqlite_stat%'`);
    const rewrite = database.prepare('UPDATE sqlite_schema SET sql = ? WHERE name = ?');
    for (const { sql, name } of rewritten) rewrite.run(sql, name);
    return names;
  } finally {
    database.close();
  }
}

function wrapped<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    // ERR_OUT_OF_RANGE: a number of JavaScript cannot hold the integer.
    if (!('errcode' in toError(error)) && errorCode(error) !== 'ERR_OUT_OF_RANGE') throw error;
    throw unreadable(`The database is damaged (${toError(error).message}). Nothing was imported.`, error);
  }
}
