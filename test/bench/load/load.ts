// The load generator as the benchmark uses it: one process that lives as long as the run.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { LoadPlan, LoadResult } from './plan.ts';

export type LoadGenerator = { run(plan: LoadPlan): Promise<LoadResult>; stop(): Promise<void> };

export function startLoadGenerator(): LoadGenerator {
  const child = fork(join(import.meta.dirname, 'generator.ts'), { stdio: 'inherit' });
  return {
    async run(plan) {
      const answer = once(child, 'message');
      child.send(plan);
      const [message] = await answer;
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
