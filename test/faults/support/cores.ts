// Keeps the load off the cores of what is under load: what clients cost is not the system's to pay.
import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

const count = availableParallelism();
const half = Math.ceil(count / 2);
const SETS = { system: `0-${half - 1}`, load: `${half}-${count - 1}` };

/**
 * Holds a process, and what it starts from now on, to its half of the cores; on a machine of one core nothing is held.
 * @throws Error where taskset, of util-linux, is missing.
 */
export function holdTo(part: keyof typeof SETS, pid: number): void {
  if (count > 1) execFileSync('taskset', ['-acp', SETS[part], `${pid}`], { stdio: 'ignore' });
}

/** Lets a process use every core again. */
export function release(pid: number): void {
  if (count > 1) execFileSync('taskset', ['-acp', `0-${count - 1}`, `${pid}`], { stdio: 'ignore' });
}
