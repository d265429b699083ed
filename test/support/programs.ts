// A program of ours as a process of its own, as its npm script runs it, found by what its log says.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export const root = dirname(dirname(import.meta.dirname));
export type ServiceName = 'accounts' | 'scheduling' | 'rest' | 'gateway';

/** What the npm script, `exec node …`, gives to node: flags, then the file; relative to `folder`, a checkout, default: this one. */
export function argumentsOf(script: ServiceName | 'start', folder = root): string[] {
  const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const [, , ...given] = scripts[script].split(' ');
  return given;
}

export type Program = Awaited<ReturnType<typeof startProgram>>;
export type LogLine = Record<string, unknown> & { msg?: string };

/** `preload` is a module that is imported first. Resolves once the log says that it is ready. */
export async function startProgram(
  name: ServiceName,
  environment: Record<string, string>,
  { preload }: { preload?: string } = {},
) {
  const preloads = preload === undefined ? [] : ['--import', preload];
  const child = spawn(process.execPath, [...preloads, ...argumentsOf(name)], {
    cwd: root,
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [log, said] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text) => {
    said += text;
  });
  const lines = (): LogLine[] =>
    log.split('\n').flatMap((line) => (line.startsWith('{') && line.endsWith('}') ? [JSON.parse(line)] : []));
  const find = (message: string) => lines().find(({ msg }) => msg === message);
  await new Promise<void>((resolve, reject) => {
    let isReady = false;
    child.stderr.setEncoding('utf8').on('data', (text) => {
      log += text;
      // Not again: finding it reads the whole log, and under load a piece comes with every request.
      isReady ||= find(`${name} is ready`) !== undefined;
      if (isReady) resolve();
    });
    child.once('exit', () => reject(new Error(`${name} ended: ${log}`)));
  });
  let isTold = false;
  const tell = () => {
    if (!isTold) child.kill('SIGTERM');
    isTold = true;
  };
  const isRunning = () => child.exitCode === null && child.signalCode === null;
  return {
    name,
    target: `127.0.0.1:${find(`${name} is ready`)?.port}`,
    /** Of /live, /ready and /metrics; undefined without OPS_PORT. */
    ops: find('ops is ready') && `http://127.0.0.1:${find('ops is ready')?.port}`,
    lines,
    log: () => log,
    said: () => said,
    /** SIGTERM, at once. */
    tell,
    /** SIGTERM if it has not been told yet (a second one would end it at once), and resolves to its exit code. */
    async end(): Promise<number | null> {
      if (!isRunning()) return child.exitCode;
      const exited = once(child, 'exit');
      tell();
      return (await exited)[0];
    },
  };
}
