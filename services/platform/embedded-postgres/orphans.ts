// Clears data of the processes that a killed owner, or a killed server, left at work on them.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readPidFile, shutDown, signal } from './postmaster.ts';
import { backendsOn, identifyPostmaster } from './processes.ts';

const POLL_MS = 5;
/** SIGKILL needs no longer, but for a process that the kernel holds in a disk access. */
const BACKENDS_END_MS = 2_000;

/**
 * Ends the server that a killed owner left on `data`, and returns whether there was one. A lock file whose process id
 * has gone to another program is removed: the server itself would take that program for its predecessor. Only for the
 * holder of the owner's lock.
 */
export async function endOrphan(data: string): Promise<boolean> {
  const pid = Number(readPidFile(data)?.[0]);
  const identity = identifyPostmaster(pid, data);
  if (identity === 'ours') await shutDown(pid, () => identifyPostmaster(pid, data) === 'ours');
  await endBackends(data);
  // Elsewise the file stays: it leads the new server to backends that outlived the old one.
  if (identity === 'foreign') rmSync(join(data, 'postmaster.pid'), { force: true });
  return identity === 'ours';
}

/** A backend at work outlives its killed server until it next waits, and no other server starts beside it. */
async function endBackends(data: string): Promise<void> {
  for (let waitedMs = 0; waitedMs < BACKENDS_END_MS; waitedMs += POLL_MS) {
    const backends = backendsOn(data);
    if (backends.length === 0) return;
    for (const pid of backends) signal(pid, 'SIGKILL');
    await sleep(POLL_MS);
  }
}
