// Creates a writable folder, or reports why that is not possible and what to do.
import { accessSync, constants, mkdirSync } from 'node:fs';
import { errorCode } from '../thrown.ts';

const REASONS: Record<string, string> = {
  EEXIST: 'a file is in its place',
  ENOTDIR: 'a file is in the place of a folder above it',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'its file system is read-only',
  ENOSPC: 'its disk is full',
};

/** `mode` applies to new folders. @throws Error that names the folder, the reason and the remedy. */
export function makeWritableFolder(folder: string, mode?: number): void {
  try {
    mkdirSync(folder, { recursive: true, mode });
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    const reason = REASONS[errorCode(error)] ?? String(error);
    throw new Error(`${folder} cannot be used: ${reason}. Fix this, or set DATA_DIR to a writable folder`, {
      cause: error,
    });
  }
}
