// The life of a process: start, run until told to stop, end cleanly within a time, say plainly why it could not start.
import { ConfigError } from './config.ts';

/** A signal this long after the first means that somebody does not want to wait. */
const IMPATIENT_MS = 1000;

type Running = {
  timeoutMs: number;
  close(): Promise<void>;
  /** Resolves to why the process cannot go on. */
  failed?: Promise<Error | undefined> | undefined;
};

/**
 * Starts with `start` and, on SIGINT or SIGTERM, ends with the function it returned; a signal more than a second after
 * the first, or `timeoutMs`, ends at once. A failed start, and one that fails later, prints its reason and exits 1.
 */
export async function runProcess(start: () => Promise<Running>): Promise<void> {
  let toldTime: number | undefined;
  let wake = () => {};
  const told = new Promise<void>((resolve) => {
    wake = resolve;
  });
  const stop = () => {
    toldTime ??= performance.now();
    // Ctrl-C under npm arrives twice at once: from the terminal, and passed on by npm.
    if (performance.now() - toldTime > IMPATIENT_MS) process.exit(1);
    wake();
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  try {
    const running = await start();
    const failure = await Promise.race([told, running.failed ?? told]);
    if (failure) process.stderr.write(`${failure.message}\n`);
    const timer = setTimeout(() => {
      process.stderr.write(`Not everything ended within ${running.timeoutMs} ms; ending now.\n`);
      process.exit(1);
    }, running.timeoutMs);
    await running.close();
    clearTimeout(timer);
    process.exitCode = failure ? 1 : 0;
    // Whatever a library left open must not keep a closed program alive.
    setTimeout(() => process.exit(), 200).unref();
  } catch (error) {
    process.stderr.write(`${explain(error)}\n`);
    process.exit(1);
  }
}

function explain(error: unknown): string {
  if (error instanceof ConfigError) return error.message;
  return error instanceof Error ? `Could not start: ${error.message}` : `Could not start: ${String(error)}`;
}
