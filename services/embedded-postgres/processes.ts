// Identifies whether a PID from a lock file still is our server, since PIDs are reused.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** `unclear`: a PostgreSQL whose data folder this process cannot read. `foreign` includes zombies. */
export type Identity = 'ours' | 'foreign' | 'unclear' | 'gone';

const isLinux = process.platform === 'linux';
const SEPARATOR = isLinux ? '\0' : ' ';

/** The relation of process `pid` to the data folder `data` (real path). */
export function identifyPostmaster(pid: number, data: string): Identity {
  const command = commandLine(pid);
  if (command === undefined) return 'gone';
  const [program = ''] = command.split(`${SEPARATOR}-D${SEPARATOR}`);
  if (!/(^|\/)postgres$/.test(program)) return 'foreign';
  const home = workingDirectory(pid);
  // The working directory follows a moved folder; the arguments are readable for everyone.
  if (home !== undefined) return home === data ? 'ours' : 'foreign';
  return isStartedWith(pid, ['-D', data]) ? 'ours' : 'unclear';
}

/**
 * Postmaster and backends on `data` (real path), independent of the lock file. Empty on macOS, and without permission to
 * inspect other processes; there backends end by themselves, at the latest with their statement.
 */
export function serverProcessesOn(data: string): number[] {
  if (!isLinux) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => workingDirectory(pid) === data)
    .filter((pid) => identifyPostmaster(pid, data) === 'ours' || commandLine(pid)?.startsWith('postgres: '));
}

/** Whether process `pid` runs and has `words` as consecutive arguments. */
export function isStartedWith(pid: number, words: readonly string[]): boolean {
  const between = (text: string) => `${SEPARATOR}${text}${SEPARATOR}`;
  return between(commandLine(pid) ?? '').includes(between(words.join(SEPARATOR)));
}

/** Program and arguments; empty for a zombie. */
function commandLine(pid: number): string | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  try {
    if (isLinux) return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}

/** undefined without permission to inspect other accounts' processes, as for root in most containers. */
function workingDirectory(pid: number): string | undefined {
  if (!isLinux) return undefined;
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined;
  }
}
