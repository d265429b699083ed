// What a program takes that runs until its work is done.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Process } from '../../support/processes.ts';
import { peakMemoryMiB, processesCpuMs } from './cpu.ts';

const POLL_MS = 50;

type ProgramUsage = { ms: number; cpuMs: number; peakMiB: number };

/** Until the program has ended. @throws Error with its output where it failed. */
export async function usageOfProgram(program: Process): Promise<ProgramUsage> {
  const beganMs = performance.now();
  let [cpuMs, peakMiB] = [0, 0];
  while (program.isRunning()) {
    cpuMs = Math.max(cpuMs, processesCpuMs([program.pid()]));
    peakMiB = Math.max(peakMiB, peakMemoryMiB(program.pid()));
    await Promise.race([program.ended, sleep(POLL_MS)]);
  }
  if ((await program.ended) !== 0) throw new Error(program.output());
  return { ms: performance.now() - beganMs, cpuMs, peakMiB };
}
