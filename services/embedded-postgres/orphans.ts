// Stops the processes that a killed owner or server left running on the data.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readPidFile, shutDown, signal } from './postmaster.ts';
import { identifyPostmaster, serverProcessesOn } from './processes.ts';

/** Negative for a single-user server. */
const PROCESS_ID = /^-?[1-9]\d*$/;
const POLL_MS = 5;
/** SIGKILL takes longer only for a process in uninterruptible disk I/O. */
const REST_ENDS_MS = 2_000;

/**
 * Stops the server that a killed owner left on `data`, and returns whether there was one. Removes a stale lock file, which
 * names no process or one of another program and would prevent the server's start. Requires the owner lock.
 */
export async function endOrphan(data: string): Promise<boolean> {
  const [line = ''] = readPidFile(data) ?? [];
  const pid = Number(line);
  const identity = identifyPostmaster(pid, data);
  if (identity === 'ours') await shutDown(pid, () => identifyPostmaster(pid, data) === 'ours');
  await killRest(data);
  // Otherwise the file stays, since it leads the new server to surviving backends of the old one.
  if (identity === 'foreign' || !PROCESS_ID.test(line)) rmSync(join(data, 'postmaster.pid'), { force: true });
  return identity === 'ours';
}

/** A busy backend survives its killed server until it next waits, and blocks the start of another. */
async function killRest(data: string): Promise<void> {
  for (let waitedMs = 0; waitedMs < REST_ENDS_MS; waitedMs += POLL_MS) {
    const pids = serverProcessesOn(data);
    if (pids.length === 0) return;
    for (const pid of pids) signal(pid, 'SIGKILL');
    await sleep(POLL_MS);
  }
}
