// The life of a process: start, run until told to stop or broken, end cleanly within a time, say plainly why it could not start.
import { ConfigError } from './config.ts';
import type { Logger } from './logger.ts';

/** A signal this long after the first means that somebody does not want to wait. */
const IMPATIENT_MS = 1000;
/** What is at work gets so long after an uncaught error: what is broken may never end. */
const BROKEN_TIMEOUT_MS = 3000;

export type RunningProcess = {
  logger: Logger;
  timeoutMs: number;
  close(): Promise<void>;
  /** Resolves to why the process cannot go on; undefined where it was told to end. */
  failed?: Promise<Error | undefined> | undefined;
};

/**
 * Starts with `start` and, on SIGINT or SIGTERM, ends with the function it returned; a signal more than a second after
 * the first, or `timeoutMs`, ends at once. A failed start prints its reason and exits 1.
 * An uncaught error or an unhandled rejection is logged as fatal; the process then ends in the same way, within 3 s, and
 * exits 1. So does one that resolves `failed` to a reason, which is printed.
 */
export async function runProcess(start: () => Promise<RunningProcess>): Promise<void> {
  let running: RunningProcess | undefined;
  let exitCode = 0;
  let toldTime: number | undefined;
  const told = Promise.withResolvers<undefined>();
  const stop = () => {
    toldTime ??= performance.now();
    // Ctrl-C under npm arrives twice at once: from the terminal, and passed on by npm.
    if (performance.now() - toldTime > IMPATIENT_MS) process.exit(1);
    told.resolve(undefined);
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  // Node raises an unhandled rejection here too.
  process.on('uncaughtException', (error, origin) => {
    if (running === undefined) exitUnstarted(error);
    running.logger.fatal({ err: error, origin }, 'uncaught error; ending');
    exitCode = 1;
    setTimeout(() => process.exit(1), BROKEN_TIMEOUT_MS);
    told.resolve(undefined);
  });
  running = await start().catch(exitUnstarted);
  const { timeoutMs, close, failed } = running;
  const failure = await Promise.race([told.promise, failed ?? told.promise]);
  if (failure !== undefined) {
    process.stderr.write(`${failure.message}\n`);
    exitCode = 1;
  }
  const timer = setTimeout(() => {
    process.stderr.write(`Not everything ended within ${timeoutMs} ms; ending now.\n`);
    process.exit(1);
  }, timeoutMs);
  await close();
  clearTimeout(timer);
  process.exitCode = exitCode;
  // Whatever a library left open must not keep a closed program alive.
  setTimeout(() => process.exit(exitCode), 200).unref();
}

function exitUnstarted(error: unknown): never {
  process.stderr.write(`${explain(error)}\n`);
  process.exit(1);
}

function explain(error: unknown): string {
  if (error instanceof ConfigError) return error.message;
  return error instanceof Error ? `Could not start: ${error.message}` : `Could not start: ${String(error)}`;
}
