// A program that tries mutants, in a process group of its own, so that whatever its tests have started can be ended with it.
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startProcess } from '../support/processes.ts';

export type Child = {
  /** Resolves once the program has ended, and all that it started. */
  ended: Promise<{ code: number | null; output: string }>;
  /** May be called again. */
  end(): void;
};

const KEPT_OUTPUT = 20_000;
/** Between SIGTERM and SIGKILL. */
const TIMEOUT_MS = 3000;

/** `args` are for Node; `told` hears of "DONE/TOTAL tested" in what the program says. */
export function startChild(
  args: readonly string[],
  options: { root: string; env: NodeJS.ProcessEnv; told(done: number, total: number): void },
): Child {
  const { root, env, told } = options;
  const program = startProcess(process.execPath, args, {
    cwd: root,
    env: { ...process.env, ...env, PATH: `${join(process.execPath, '..')}:${process.env.PATH}` },
    detached: true,
    keep: KEPT_OUTPUT,
  });
  const look = () => {
    const [, done, total] = [...program.output().matchAll(/(\d+)\/(\d+) tested/g)].at(-1) ?? [];
    if (done !== undefined) told(Number(done), Number(total));
  };
  program.child.stdout?.on('data', look);
  const ended = once(program.child, 'exit').then(([code]: (number | null)[]) => {
    // What it has started may live on, and hold its output open.
    program.signal('SIGKILL');
    return { code: code ?? null, output: program.output() };
  });
  return {
    ended,
    end() {
      program.signal('SIGTERM');
      void sleep(TIMEOUT_MS, undefined, { ref: false }).then(() => program.signal('SIGKILL'));
    },
  };
}
