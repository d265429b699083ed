// Restarts a server that ends unexpectedly, up to a limit.
import { existsSync, statfsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { toError } from '../platform/thrown.ts';
import type { Cluster } from './cluster.ts';
import { endOrphan } from './orphans.ts';
import { type Postmaster, startPostmaster } from './postmaster.ts';
import { lastWords } from './server-log.ts';

type KeptServer = {
  /** PID of the current server. */
  pid(): number;
  /** Resolves when it has ended permanently: to the error, or to undefined after `stop`. Never rejects. */
  ended: Promise<Error | undefined>;
  /** Idempotent. @throws Error if the server does not stop. */
  stop(): Promise<void>;
};

const WITHIN_MS = 5 * 60_000;
/** Delay before the second restart of a period, doubled for each further one; the first has none. */
const PAUSE_MS = 100;
/** PostgreSQL needs space for at least one more 16 MB WAL segment. */
const FULL_BELOW_BYTES = 32 * 1024 * 1024;

/**
 * Restarts the server of `cluster` on the port of `first`, at most `maxRestarts` times in 5 minutes; `tell` receives the reason
 * each time.
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
      // `stop` was called as it became ready, so it must be stopped here.
      if (stopping.signal.aborted) await current.stop();
      return undefined;
    } catch (error) {
      return toError(error).message;
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
      tell(`The embedded PostgreSQL is being restarted: ${reason}`);
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
    `The embedded PostgreSQL in ${folder} keeps failing (restarted ${end.maxRestarts} times): ${end.reason}.${full} ` +
    `Fix this (details in ${log}), then start again: acknowledged writes are kept.`
  );
}

/** On a full disk, the server's log can lack that message. */
function isDiskFull(folder: string): boolean {
  if (!existsSync(folder)) return false;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize < FULL_BELOW_BYTES;
}
