// Secrets that npm start makes for itself, each kept in a file that only its owner reads and that is never written again.
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
import { makeWritableFolder } from './platform/writable-folder.ts';

/** The content of `file`, which is made with `make` where there is none: once, also where several try at one moment. @throws Error where its folder cannot be written. */
export function keepSecret(file: string, make: () => string): string {
  if (!existsSync(file)) {
    makeWritableFolder(dirname(file));
    createOnce(file, `${make()}\n`);
  }
  return readFileSync(file, 'utf8').trim();
}

/** Whole under its name or not there; on disk before anything is hashed with it. A link, since a rename overwrites. */
function createOnce(file: string, text: string): void {
  const partial = `${file}.${randomBytes(8).toString('hex')}`;
  try {
    writeFileSync(partial, text, { mode: 0o600, flag: 'wx', flush: true });
    linkSync(partial, file);
    const folder = openSync(dirname(file), 'r');
    fsyncSync(folder);
    closeSync(folder);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    rmSync(partial, { force: true });
  }
}
