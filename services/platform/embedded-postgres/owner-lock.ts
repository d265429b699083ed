// At most one living process owns a cluster: a lock that the kernel takes back when its holder dies, however it dies.
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Account, giveTo } from './account.ts';

const SQLITE_BUSY = 5;

/**
 * Takes the lock of a cluster's folder without waiting, and returns what gives it back (harmless when repeated). Node has no file locks of its
 * own; SQLite's are real ones on Linux and macOS, and hold between containers that share the folder.
 * @throws Error where another living process holds it.
 */
export function lockForOwner(folder: string, account: Account | undefined): () => void {
  const file = join(folder, 'owner.lock');
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    // Nothing is ever written: without this there would still be a journal file beside it.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (!(error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY)) throw error;
    throw new Error(`${folder} is in use by another running process: stop it, or choose another DATA_DIR`);
  }
  chmodSync(file, 0o600);
  giveTo(account, file);
  return () => {
    if (database.isOpen) database.close();
  };
}
