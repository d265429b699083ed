// Starts programs that the benchmark measures, each a process of its own, and ends them.
import { setTimeout as sleep } from 'node:timers/promises';
import { startProcess } from '../../support/processes.ts';
import { argumentsOf } from '../../support/services.ts';
import { ROOT } from '../root.ts';

export type Child = ReturnType<typeof startNode>;

const READY_MS = 30_000;
const LAST_WORDS = 500;
let count = 0;

/** Told to ours by its npm scripts, and here to those that it is compared with as well. */
const FLAGS = argumentsOf('rest').filter((argument) => argument.startsWith('--max-semi-space-size'));

/** `folder`: the checkout whose program it is. `profileFolder`: it writes a CPU profile there when it ends. */
export function startNode(options: {
  name: string;
  script: string;
  env: Readonly<Record<string, string>>;
  folder?: string;
  profileFolder?: string | undefined;
}) {
  const { name, script, env, folder = ROOT, profileFolder } = options;
  count += 1;
  const profile =
    profileFolder === undefined
      ? []
      : [
          '--cpu-prof',
          `--cpu-prof-dir=${profileFolder}`,
          `--cpu-prof-name=${name.replaceAll(' ', '-')}-${count}.cpuprofile`,
        ];
  const { HOME } = process.env;
  const child = startProcess(process.execPath, [...FLAGS, ...profile, script], {
    cwd: folder,
    env: { HOME, ...env },
    keep: LAST_WORDS,
  });
  return {
    name,
    pid: child.pid(),
    hasEnded: () => !child.isRunning(),
    lastWords: () => child.output().trim(),
    stop: () => child.end(),
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
