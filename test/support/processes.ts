// Starts programs as processes of their own, tells when they are ready, keeps what they write, and ends them whatever happens.
import { type SpawnOptions, spawn } from 'node:child_process';
import { dirname } from 'node:path';

/** This checkout. */
export const root = dirname(dirname(import.meta.dirname));
export type Environment = Readonly<Record<string, string | undefined>>;
export type Process = ReturnType<typeof startProcess>;
type LogLine = Record<string, unknown> & { msg?: string };
export type ProcessOptions = Pick<SpawnOptions, 'uid' | 'gid'> & {
  /** Default: `root`. */
  cwd?: string;
  /** All that it is given, with PATH. */
  env?: Environment;
  /** In a process group of its own: every signal goes to its children too. */
  detached?: boolean;
  /** `child` has a channel to send and receive messages. */
  ipc?: boolean;
  /** `child.stdin` can be written to. Default: it is empty. */
  stdin?: boolean;
  /** Keeps only so many characters of what it wrote last. */
  keep?: number;
};

/** From being told to end to SIGKILL. */
const TIMEOUT_MS = 30_000;
const running = new Set<Process>();
const killAll = () => {
  for (const each of running) each.signal('SIGKILL');
};
process.on('exit', killAll);
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  const end = () => {
    // A program with a listener of its own ends in its own way, and 'exit' follows.
    if (process.listenerCount(name) > 1) return;
    killAll();
    // Not sooner: npm passes Ctrl-C on, and without a listener the second signal ends this process.
    process.off(name, end);
    process.kill(process.pid, name);
  };
  process.on(name, end);
}

/** The process ends with this one at the latest. */
export function startProcess(command: string, args: readonly string[], options: ProcessOptions = {}) {
  const {
    cwd = root,
    env = {},
    ipc = false,
    stdin = false,
    keep = Number.POSITIVE_INFINITY,
    ...others
  } = options;
  const child = spawn(command, args, {
    ...others,
    cwd,
    env: { PATH: process.env.PATH, ...env },
    stdio: [stdin ? 'pipe' : 'ignore', 'pipe', 'pipe', ...(ipc ? (['ipc'] as const) : [])],
  });
  const listeners = new Set<() => void>();
  let [output, stdout] = ['', ''];
  const hear = (text: string) => {
    output += text;
    if (output.length > keep) output = output.slice(-keep);
    for (const listener of listeners) listener();
  };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    if (keep === Number.POSITIVE_INFINITY) stdout += text;
    hear(text);
  });
  child.stderr?.setEncoding('utf8').on('data', hear);
  child.on('error', (error) => hear(String(error)));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const told = new Set<NodeJS.Signals>();
  const signal = (name: NodeJS.Signals): void => {
    if (!running.has(started)) return;
    if (!options.detached || child.pid === undefined) return void child.kill(name);
    try {
      process.kill(-child.pid, name);
    } catch {
      // The group is gone.
    }
  };
  const started = {
    child,
    pid: () => child.pid ?? 0,
    output: () => output,
    stdout: () => stdout,
    /** Resolves once it has ended and all is read that it wrote: to its exit code, null where a signal ended it. */
    ended,
    isRunning: () => child.pid !== undefined && child.exitCode === null && child.signalCode === null,
    signal,
    /** Sends the signal unless it was sent before: a service that is told twice ends at once. Resolves as `ended` does. */
    end(name: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
      if (!told.has(name)) signal(name);
      told.add(name);
      const timer = setTimeout(() => signal('SIGKILL'), TIMEOUT_MS);
      return ended.finally(() => clearTimeout(timer));
    },
    /** Resolves to what `find` finds in its output, now or later. @throws Error with the output where it ends before. */
    says<T>(find: (output: string) => T | undefined): Promise<T> {
      return new Promise((resolve, reject) => {
        const look = () => {
          const found = find(output);
          if (found === undefined) return;
          // Not again: it reads the whole output, and under load a piece comes with every request.
          listeners.delete(look);
          resolve(found);
        };
        listeners.add(look);
        look();
        void ended.then(() => reject(new Error(output)));
      });
    },
  };
  running.add(started);
  void ended.then(() => running.delete(started));
  return started;
}

/** The lines of JSON that are complete. */
export function linesOf(output: string): LogLine[] {
  const complete = output.split('\n').slice(0, -1);
  return complete.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
}
