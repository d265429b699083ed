// A program that tries mutants, in a process group of its own, so that whatever its tests have started can be ended with it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export type Child = {
  /** Resolves once the program has ended, and all that it started. */
  ended: Promise<{ code: number | null; output: string }>;
  /** May be called again. */
  end(): void;
};

const KEPT_OUTPUT = 20_000;
/** Between SIGTERM and SIGKILL. */
const PATIENCE_MS = 3000;

/** `args` are for Node; `told` hears of "DONE/TOTAL tested" in what the program says. */
export function startChild(
  args: readonly string[],
  options: { root: string; env: NodeJS.ProcessEnv; told(done: number, total: number): void },
): Child {
  const { root, env, told } = options;
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, ...env, PATH: `${join(process.execPath, '..')}:${process.env.PATH}` },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const signal = (name: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, name);
    } catch {
      // The group is gone.
    }
  };
  let output = '';
  const hear = (chunk: Buffer) => {
    output = (output + chunk).slice(-KEPT_OUTPUT);
    const [, done, total] = [...output.matchAll(/(\d+)\/(\d+) tested/g)].at(-1) ?? [];
    if (done !== undefined) told(Number(done), Number(total));
  };
  child.stdout.on('data', hear);
  child.stderr.on('data', hear);
  const ended = once(child, 'exit').then(([code]: (number | null)[]) => {
    signal('SIGKILL');
    return { code: code ?? null, output };
  });
  return {
    ended,
    end() {
      signal('SIGTERM');
      void sleep(PATIENCE_MS, undefined, { ref: false }).then(() => signal('SIGKILL'));
    },
  };
}
