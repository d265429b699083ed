// The lifecycle of a process: start, run until a signal or a fatal error, shut down within a time limit.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../logging/logger.ts';
import { toError } from '../thrown.ts';
import { ConfigError } from './config.ts';

/** A signal this long after the first forces the exit. */
const IMPATIENT_MS = 1000;
/** Time limit of the shutdown after an uncaught error. */
const BROKEN_TIMEOUT_MS = 3000;

/** From a signal to its event, unless this process is blocked. */
const SIGNAL_DELAY_MS = 50;

export type RunningProcess = {
  logger: Logger;
  timeoutMs: number;
  close(): Promise<void>;
  /** Resolves to the error that ends the process; to undefined after a regular stop. */
  failed?: Promise<Error | undefined> | undefined;
};

/** A program that was told to stop before it had started. */
class StoppedEarlyError extends Error {}

/**
 * Runs `start`; on SIGINT, SIGTERM or SIGHUP calls the returned `close`. A signal before that aborts the signal of `start`, which
 * may then throw StoppedEarlyError: exit code 0. A second signal after more than a second, or `timeoutMs`, exits at once with 1.
 * A failed start prints its reason and exits with 1.
 * An uncaught error or unhandled rejection is logged as fatal, followed by a shutdown within 3 s and exit code 1. If `failed`
 * resolves to an error, its message is printed, followed by a shutdown and exit code 1.
 */
export async function runProcess(start: (stopping: AbortSignal) => Promise<RunningProcess>): Promise<void> {
  let running: RunningProcess | undefined;
  let exitCode = 0;
  let stopTime: number | undefined;
  const stopRequested = Promise.withResolvers<undefined>();
  const stopping = new AbortController();
  const stop = () => {
    stopTime ??= performance.now();
    // Under npm, Ctrl-C arrives twice at once: from the terminal, and forwarded by npm.
    if (performance.now() - stopTime > IMPATIENT_MS) process.exit(1);
    stopping.abort(new StoppedEarlyError('stopped during the start'));
    stopRequested.resolve(undefined);
  };
  // SIGHUP: the terminal was closed.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, stop);
  // Also called for unhandled rejections.
  process.on('uncaughtException', (error, origin) => {
    if (running === undefined) exitAfterFailedStart(error);
    running.logger.fatal({ err: error, origin }, 'uncaught error; exiting');
    exitCode = 1;
    setTimeout(() => process.exit(1), BROKEN_TIMEOUT_MS);
    stopRequested.resolve(undefined);
  });
  running = await start(stopping.signal).catch(exitAfterFailedStart);
  const { timeoutMs, close, failed } = running;
  const failure = await Promise.race([stopRequested.promise, failed ?? stopRequested.promise]);
  if (failure !== undefined) {
    process.stderr.write(`${failure.message}\n`);
    exitCode = 1;
  }
  const timer = setTimeout(() => {
    process.stderr.write(`The shutdown took longer than ${timeoutMs} ms; exiting now.\n`);
    process.exit(1);
  }, timeoutMs);
  await close();
  clearTimeout(timer);
  process.exitCode = exitCode;
  // Handles that a library leaves open must not keep the process alive.
  setTimeout(() => process.exit(exitCode), 200).unref();
}

/** For a start that fails: Ctrl-C also ends a program that the start has just run, before this process hears of it. */
export async function signalsHeard(): Promise<void> {
  await sleep(SIGNAL_DELAY_MS);
}

function exitAfterFailedStart(error: unknown): never {
  if (error instanceof StoppedEarlyError) process.exit(0);
  const text = error instanceof ConfigError ? error.message : `Could not start: ${toError(error).message}`;
  process.stderr.write(`${text}\n`);
  process.exit(1);
}

/** Closes the parts of a program, so that dependencies end last: the last part first, one after the other; one that fails keeps no other open. @throws the first error, after all have ended. */
export async function closeInReverse(closers: readonly (() => Promise<void>)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const close of closers.toReversed()) await close().catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors[0];
}
