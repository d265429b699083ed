// Keeps a server running: one that ends untold is started again, and given up where that does not help.
import { existsSync, statfsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from './cluster.ts';
import { endOrphan } from './orphans.ts';
import { type Postmaster, startPostmaster } from './postmaster.ts';
import { lastWords } from './server-log.ts';

export type KeptServer = {
  /** Of the server that runs now. */
  pid(): number;
  /** Resolves when it has ended for good, never rejects: to why, undefined where it was told to. */
  ended: Promise<Error | undefined>;
  /** May be called again. @throws Error where the server does not stop. */
  stop(): Promise<void>;
};

const WITHIN_MS = 5 * 60_000;
/** Before the second start in that time; twice as long before each further one, none before the first. */
const PAUSE_MS = 100;
/** PostgreSQL needs room for at least one more 16 MB segment of its journal. */
const FULL_BELOW_BYTES = 32 * 1024 * 1024;

/**
 * Starts the server of `cluster` again, at the port of `first`, at most `maxRestarts` times in 5 minutes; `tell` hears of
 * each end and why.
 */
export function keepRunning(
  first: Postmaster,
  options: { cluster: Cluster; maxRestarts: number; tell: (text: string) => void },
): KeptServer {
  const { cluster, maxRestarts, tell } = options;
  const stopping = new AbortController();
  let current = first;

  const startAgain = async (): Promise<string | undefined> => {
    try {
      await endOrphan(cluster.data);
      current = await startPostmaster(cluster, { port: first.port, signal: stopping.signal });
      // Told to stop as it became ready: nobody else would end this one.
      if (stopping.signal.aborted) await current.stop();
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  };

  const watch = async (): Promise<Error | undefined> => {
    let starts: number[] = [];
    let failure: string | undefined;
    for (;;) {
      const reason = failure ?? `it ended by ${await current.exited}; its log: ${lastWords(cluster.log)}`;
      if (stopping.signal.aborted) return undefined;
      starts = starts.filter((startTime) => performance.now() - startTime < WITHIN_MS);
      if (starts.length >= maxRestarts) return new Error(explain(cluster, { reason, maxRestarts }));
      tell(`The embedded PostgreSQL is started again: ${reason}`);
      const pauseMs = starts.length === 0 ? 0 : PAUSE_MS * 2 ** (starts.length - 1);
      await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => {});
      if (stopping.signal.aborted) return undefined;
      starts.push(performance.now());
      failure = await startAgain();
    }
  };

  const ended = watch();
  let stopped: Promise<void> | undefined;
  const stop = async () => {
    stopping.abort();
    await current.stop();
    await ended;
  };
  return { pid: () => current.pid, ended, stop: () => (stopped ??= stop()) };
}

function explain({ folder, log }: Cluster, end: { reason: string; maxRestarts: number }): string {
  const full = isDiskFull(folder) ? ' Its disk is full.' : '';
  return (
    `The embedded PostgreSQL in ${folder} does not stay up (started again ${end.maxRestarts} times): ${end.reason}.${full} ` +
    `Mend that (${log} says more), then start again: what was acknowledged is kept.`
  );
}

/** On a full disk the server's log may lack the line that says so. */
function isDiskFull(folder: string): boolean {
  if (!existsSync(folder)) return false;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize < FULL_BELOW_BYTES;
}
