// CPU time of a process over all its threads, as Linux keeps it in nanoseconds.
import { readdirSync, readFileSync } from 'node:fs';

export function processCpuMs(pid: number): number {
  let nanoseconds = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      nanoseconds += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
    } catch {
      // The thread has ended since.
    }
  }
  return nanoseconds / 1e6;
}
