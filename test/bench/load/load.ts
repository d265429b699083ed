// The load generator as the benchmark uses it: one process that lives as long as the run.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { LoadPlan, LoadResult } from './plan.ts';

export type LoadGenerator = { pid: number; run(plan: LoadPlan): Promise<LoadResult>; stop(): Promise<void> };

/**
 * `yields`: it waits for its turn on a processor (SCHED_BATCH). Otherwise an answer wakes it at once, in place of whoever has
 * just sent that, which clients on machines of their own never do.
 */
export function startLoadGenerator({ yields = false } = {}): LoadGenerator {
  const yielding = { execPath: 'chrt', execArgv: ['--batch', '0', process.execPath] };
  const child = fork(join(import.meta.dirname, 'generator.ts'), {
    stdio: 'inherit',
    // JSON has no NaN.
    serialization: 'advanced',
    ...(yields && yielding),
  });
  return {
    pid: child.pid ?? 0,
    async run(plan) {
      const done = new AbortController();
      const { signal } = done;
      const answer = once(child, 'message', { signal });
      const ended = once(child, 'exit', { signal }).then(() => [{ error: 'its process ended' }]);
      ended.catch(() => {});
      child.send(plan);
      const [message] = await Promise.race([answer, ended]).finally(() => done.abort());
      const { result, error } = message as { result?: LoadResult; error?: string };
      if (result === undefined) throw new Error(`the load generator failed: ${error}`);
      return result;
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    },
  };
}
