// Why a place cannot be written; and creates a writable folder, or reports what to do.
import { accessSync, constants, mkdirSync } from 'node:fs';
import { errorCode } from '../thrown.ts';

/** Why a file or folder cannot be written, by the code of the error. */
export const UNWRITABLE: Readonly<Record<string, string>> = {
  ENOENT: 'its folder does not exist',
  EEXIST: 'a file is in its place',
  ENOTDIR: 'a file is in the place of a folder above it',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EISDIR: 'it is a folder',
  EROFS: 'its file system is read-only',
  ENOSPC: 'its disk is full',
  EDQUOT: 'the disk is full for this user',
  ENAMETOOLONG: 'its name is too long',
};

/** `mode` applies to new folders. @throws Error that names the folder, the reason and the remedy. */
export function makeWritableFolder(folder: string, mode?: number): void {
  try {
    mkdirSync(folder, { recursive: true, mode });
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    const reason = UNWRITABLE[errorCode(error)] ?? String(error);
    throw new Error(`${folder} cannot be used: ${reason}. Fix this, or set DATA_DIR to a writable folder`, {
      cause: error,
    });
  }
}
