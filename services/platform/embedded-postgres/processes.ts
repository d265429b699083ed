// Tells a server of ours from whatever else got its process id: ids are reused, and lock files outlive their process.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** `unclear`: a PostgreSQL, on data that this process may not see. `foreign` may also be one that ended unreaped. */
export type Identity = 'ours' | 'foreign' | 'unclear' | 'gone';

const isLinux = process.platform === 'linux';
const SEPARATOR = isLinux ? '\0' : ' ';

/** What process `pid` is to the data folder `data` (real path). */
export function identifyPostmaster(pid: number, data: string): Identity {
  const command = commandLine(pid);
  if (command === undefined) return 'gone';
  const [program = ''] = command.split(`${SEPARATOR}-D${SEPARATOR}`);
  if (!/(^|\/)postgres$/.test(program)) return 'foreign';
  const home = workingDirectory(pid);
  // The working directory follows a folder that was moved; the arguments are what anyone may read.
  if (home !== undefined) return home === data ? 'ours' : 'foreign';
  return isStartedWith(pid, ['-D', data]) ? 'ours' : 'unclear';
}

/**
 * Postmaster and backends on `data` (real path), whatever its lock file says. Empty on macOS, and where this process may not
 * look into others: there they end by themselves, at the latest with their statement.
 */
export function serverProcessesOn(data: string): number[] {
  if (!isLinux) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => workingDirectory(pid) === data)
    .filter((pid) => identifyPostmaster(pid, data) === 'ours' || commandLine(pid)?.startsWith('postgres: '));
}

/** Whether process `pid` works and `words` stand among its arguments, side by side. */
export function isStartedWith(pid: number, words: readonly string[]): boolean {
  const between = (text: string) => `${SEPARATOR}${text}${SEPARATOR}`;
  return between(commandLine(pid) ?? '').includes(between(words.join(SEPARATOR)));
}

/** Program and arguments; empty for a process that ended unreaped. */
function commandLine(pid: number): string | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  try {
    if (isLinux) return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}

/** undefined where root lacks the capability to look into other accounts' processes, as in most containers. */
function workingDirectory(pid: number): string | undefined {
  if (!isLinux) return undefined;
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined;
  }
}
