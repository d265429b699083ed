// The secrets that npm start generates, each in a file that only its owner can read and that never changes.
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { makeWritableFolder } from '../../platform/process/writable-folder.ts';
import { errorCode } from '../../platform/thrown.ts';

/** The content of `file`, created with `make` if missing; safe in concurrent starts. @throws Error if the folder is not writable. */
export function keepSecret(file: string, make: () => string): string {
  if (!existsSync(file)) {
    makeWritableFolder(dirname(file));
    createFile(file, `${make()}\n`);
  }
  return readFileSync(file, 'utf8').trim();
}

/** Writes the file atomically and durably before the secret is used. Links it into place, since a rename would overwrite. */
function createFile(file: string, text: string): void {
  const partial = `${file}.${randomBytes(8).toString('hex')}`;
  try {
    writeFileSync(partial, text, { mode: 0o600, flag: 'wx', flush: true });
    linkSync(partial, file);
    const folder = openSync(dirname(file), 'r');
    fsyncSync(folder);
    closeSync(folder);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(partial, { force: true });
  }
}
