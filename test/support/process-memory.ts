// How much memory a process holds.
import { readFileSync } from 'node:fs';

/** Resident bytes, from Linux's /proc. */
export function memoryOf(pid: number): number {
  const [, kibibytes = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kibibytes) * 1024;
}
