// Starts programs that the benchmark measures, each a process of its own, and ends them.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { argumentsOf } from '../../support/programs.ts';
import { CACHE, ROOT } from '../root.ts';

export type Child = {
  name: string;
  pid: number;
  hasEnded(): boolean;
  lastWords(): string;
  stop(): Promise<void>;
};

const READY_MS = 30_000;
const STOP_MS = 8_000;
let count = 0;

/** Told to ours by its npm scripts, and here to those that it is compared with as well. */
const FLAGS = argumentsOf('rest').filter((argument) => argument.startsWith('--max-semi-space-size'));

/** Its output goes to .bench/logs. `profileFolder`: it writes a CPU profile there when it ends. */
export function startNode(options: {
  name: string;
  script: string;
  env: Readonly<Record<string, string>>;
  profileFolder?: string | undefined;
}): Child {
  const { name, script, env, profileFolder } = options;
  count += 1;
  const profile =
    profileFolder === undefined
      ? []
      : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`, `--cpu-prof-name=${name}-${count}.cpuprofile`];
  return startProgram({ name, command: process.execPath, args: [...FLAGS, ...profile, script], env });
}

export function startProgram(options: {
  name: string;
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd?: string;
}): Child {
  const { name, command, args, env, cwd = ROOT } = options;
  const folder = join(CACHE, 'logs');
  mkdirSync(folder, { recursive: true });
  const log = join(folder, `${name}.log`);
  const descriptor = openSync(log, 'w');
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(command, args, {
    cwd,
    env: { PATH, HOME, ...env },
    stdio: ['ignore', descriptor, descriptor],
  });
  closeSync(descriptor);
  child.on('error', () => {});
  const hasEnded = () => child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
  return {
    name,
    pid: child.pid ?? 0,
    hasEnded,
    lastWords: () => readFileSync(log, 'utf8').trim().slice(-500),
    stop: () => end(child, hasEnded),
  };
}

/** @throws Error with its last words where one of `children` ends, or `isReady` stays false for 30 s. */
export async function untilReady(children: readonly Child[], isReady: () => Promise<boolean>): Promise<void> {
  for (let waitedMs = 0; waitedMs < READY_MS; waitedMs += 50) {
    const ended = children.find((child) => child.hasEnded());
    if (ended !== undefined) throw new Error(`${ended.name} ended: ${ended.lastWords()}`);
    if (await isReady().catch(() => false)) return;
    await sleep(50);
  }
  const words = children.map((child) => `${child.name}: ${child.lastWords()}`).join('\n');
  throw new Error(`not ready after ${READY_MS / 1000} s\n${words}`);
}

/**
 * Starts a system again, twice at most, where a part of it could not start: a database that was copied a moment ago may
 * be slow to take its first connection, for which the services wait half a second.
 */
export async function startPatiently<T>(start: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start();
    } catch (error) {
      if (attempt === 3) throw error;
      await sleep(2000);
    }
  }
}

async function end(child: ChildProcess, hasEnded: () => boolean): Promise<void> {
  if (hasEnded()) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await exited;
  clearTimeout(timer);
}
