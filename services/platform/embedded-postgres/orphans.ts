// Clears data of the processes that a killed owner, or a killed server, left at work on them.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readPidFile, shutDown, signal } from './postmaster.ts';
import { identifyPostmaster, serverProcessesOn } from './processes.ts';

/** Negative where PostgreSQL ran for a single user. */
const PROCESS_ID = /^-?[1-9]\d*$/;
const POLL_MS = 5;
/** SIGKILL needs no longer, but for a process that the kernel holds in a disk access. */
const REST_ENDS_MS = 2_000;

/**
 * Ends the server that a killed owner left on `data`, and returns whether there was one. A lock file that names no process,
 * as a power cut may leave it, or one that is another program by now, is removed: the server itself would not start beside
 * it. Only for the holder of the owner's lock.
 */
export async function endOrphan(data: string): Promise<boolean> {
  const [line = ''] = readPidFile(data) ?? [];
  const pid = Number(line);
  const identity = identifyPostmaster(pid, data);
  if (identity === 'ours') await shutDown(pid, () => identifyPostmaster(pid, data) === 'ours');
  await killRest(data);
  // Elsewise the file stays: it leads the new server to backends that outlived the old one.
  if (identity === 'foreign' || !PROCESS_ID.test(line)) rmSync(join(data, 'postmaster.pid'), { force: true });
  return identity === 'ours';
}

/** A backend at work outlives its killed server until it next waits, and no other server starts beside it. */
async function killRest(data: string): Promise<void> {
  for (let waitedMs = 0; waitedMs < REST_ENDS_MS; waitedMs += POLL_MS) {
    const pids = serverProcessesOn(data);
    if (pids.length === 0) return;
    for (const pid of pids) signal(pid, 'SIGKILL');
    await sleep(POLL_MS);
  }
}
