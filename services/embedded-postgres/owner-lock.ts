// The owner lock of a cluster: at most one process owns it, and the kernel releases it when that process ends.
import { chmodSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Account, giveTo } from './account.ts';

const SQLITE_BUSY = 5;
/** Offset of SQLite's exclusive lock in the file. */
const SQLITE_LOCK_BYTE = 0x40000000;

/** Another process owns the cluster, whose server may be running. */
export class InUseError extends Error {}

/**
 * Takes the lock of a cluster's folder without waiting, and returns an idempotent function that releases it. Node has no
 * file locks; SQLite uses the kernel's on Linux and macOS, also between containers that share the folder.
 * @throws InUseError if another process holds it.
 */
export function lockForOwner(folder: string, account: Account | undefined): () => void {
  const file = join(folder, 'owner.lock');
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    // Nothing is written, but by default SQLite would create a journal file.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (!(error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY)) throw error;
    throw new InUseError(`${folder} is in use by ${holderOf(file)}: stop it, or choose another DATA_DIR`);
  }
  chmodSync(file, 0o600);
  giveTo(account, file);
  return () => {
    if (database.isOpen) database.close();
  };
}

/** For messages. Linux lists the process of a lock; 0 is one of another container. */
function holderOf(file: string): string {
  try {
    const place = `:${statSync(file).ino} ${SQLITE_LOCK_BYTE} `;
    const line = readFileSync('/proc/locks', 'utf8')
      .split('\n')
      .find((text) => text.includes(' WRITE ') && text.includes(place));
    const pid = Number(/ WRITE +(\d+) /.exec(line ?? '')?.[1]);
    if (pid > 0) return `process ${pid}`;
  } catch {
    // Not Linux.
  }
  return 'another running process';
}
