// A folder for one import's temporary files, which is removed however the program ends.
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceError } from '../platform/errors.ts';
import { errorCode } from '../platform/thrown.ts';

/** `folder` is new, and readable for this account alone (mode 0700). `remove` may be called twice. */
export type Workplace = { folder: string; remove(): void };

export async function openWorkplace(): Promise<Workplace> {
  const folder = await mkdtemp(join(tmpdir(), 'moving-'));
  // SQLite sorts there what does not fit into its cache.
  Object.assign(process.env, { SQLITE_TMPDIR: folder });
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.on('exit', remove);
  return {
    folder,
    remove() {
      process.off('exit', remove);
      remove();
    },
  };
}

const SQLITE_FULL = 13;

/** Runs `work`, which writes into a workplace. @throws INVALID_REQUEST that says what to do where its disk is full. */
export async function withinDisk<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    for (let cause = error; cause instanceof Error; cause = cause.cause) {
      const isFull = 'errcode' in cause ? cause.errcode === SQLITE_FULL : errorCode(cause) === 'ENOSPC';
      if (!isFull) continue;
      const message = `The disk of ${tmpdir()} is full. Free some of it, or set TMPDIR to a folder with more room.`;
      throw new ServiceError('INVALID_REQUEST', { message, cause: error });
    }
    throw error;
  }
}
