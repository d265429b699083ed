// CPU time and memory of processes, as Linux keeps them under /proc.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

let tickMs: number | undefined;
function lengthOfTickMs(): number {
  tickMs ??= 1000 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
  return tickMs;
}

/** User and system time in milliseconds; `withEnded` adds that of children which have ended. 0 where it is gone. */
function processCpuMs(pid: number | string, withEnded = false): number {
  const ended = withEnded ? statFields(pid).slice(13, 15) : [];
  return ownCpuMs(pid) + ended.reduce((sum, ticks) => sum + Number(ticks), 0) * lengthOfTickMs();
}

/** Of all threads, in nanoseconds' resolution: a tick of 10 ms is longer than many short requests. */
function ownCpuMs(pid: number | string): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    return threads.reduce((sum, thread) => sum + threadCpuMs(`/proc/${pid}/task/${thread}/schedstat`), 0);
  } catch {
    return 0;
  }
}
const threadCpuMs = (schedstat: string) => Number(readFileSync(schedstat, 'utf8').split(' ', 1)[0]) / 1e6;

/** From the third field on: the second, the program's name, may hold blanks. */
function statFields(pid: number | string): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}

const childrenOf = (pid: number): string[] =>
  readdirSync('/proc').filter((name) => /^\d+$/.test(name) && statFields(name)[1] === `${pid}`);

/** Of PostgreSQL with all its backends, those that have ended too. */
export function postgresCpuMs(postmasterPid: number): number {
  const live = childrenOf(postmasterPid).reduce((sum, child) => sum + processCpuMs(child), 0);
  return processCpuMs(postmasterPid, true) + live;
}

export const processesCpuMs = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => sum + processCpuMs(pid, true), 0);

/** Time that the whole machine has not been idle, summed over its cores. */
export function machineCpuMs(): number {
  const [, user, nice, system, , , irq, softirq, steal] = readFileSync('/proc/stat', 'utf8').split(/\s+/);
  const ticks = [user, nice, system, irq, softirq, steal].reduce((sum, field) => sum + Number(field), 0);
  return ticks * lengthOfTickMs();
}

/** The most memory that a process has held at once, in MiB. */
export function peakMemoryMiB(pid: number): number {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes ?? 0) / 1024;
}
