// Creates a writable folder, or reports why that is not possible and what to do.
import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { errorCode } from '../thrown.ts';

const REASONS: Record<string, string> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'its file system is read-only',
  ENOSPC: 'its disk is full',
  ELOOP: 'its links lead in a circle',
};

/** `mode` applies to new folders. @throws Error that names the folder, the reason and the remedy. */
export function makeWritableFolder(folder: string, mode?: number): void {
  let failure: unknown;
  try {
    mkdirSync(folder, { recursive: true, mode });
  } catch (error) {
    failure = error;
  }
  // Node can report ENOENT for a folder that it could not create; the nearest existing parent shows the reason.
  const nearest = nearestOf(resolve(folder));
  const reason = whyUnwritable(nearest) ?? (failure && explain(failure));
  if (reason === undefined) return;
  const place = nearest === resolve(folder) ? '' : ` (${nearest})`;
  throw new Error(
    `${folder} cannot be used: ${reason}${place}. Fix this, or set DATA_DIR to a writable folder`,
  );
}

function nearestOf(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestOf(dirname(path));
}

function whyUnwritable(path: string): string | undefined {
  try {
    if (!statSync(path).isDirectory()) return 'a file is in its place';
    accessSync(path, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return explain(error);
  }
}

function explain(error: unknown): string {
  return REASONS[errorCode(error)] ?? String(error);
}
