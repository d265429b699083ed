// Where log lines are written. A disk that is full, or a reader that has stalled, costs lines and stops no service.
import { destination } from 'pino';

/** Lines that wait to be written; beyond it, further ones are left out. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** How often the last lines of a process are tried while the reader has no room, every 100 ms. */
const TRIES_TO_FLUSH = 10;
const STALLED = 'nobody reads it';

/** Why lines cannot be written now, of each stream where that is so. */
const faults = new Map<object, string>();

/** Why lines of this process cannot be written now; undefined if they can. */
export function whyLinesWait(): string | undefined {
  return faults.values().next().value;
}

/** A file, or a descriptor that is open. `sync`: a line is written when its call returns. */
export function openLines(target: ({ dest: string; mode: number } | { fd: number }) & { sync: boolean }) {
  let isFailing = false;
  let triesLeft = Number.POSITIVE_INFINITY;
  const retryEAGAIN = () => {
    faults.set(target, STALLED);
    triesLeft -= 1;
    return triesLeft > 0;
  };
  const lines = destination({ ...target, maxLength: MAX_WAITING_BYTES, retryEAGAIN });
  lines.on('error', (error: unknown) => {
    isFailing = true;
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    faults.set(target, code === 'EAGAIN' ? STALLED : `cannot be written (${code})`);
  });
  lines.on('drop', () => faults.set(target, faults.get(target) ?? STALLED));
  lines.on('write', () => {
    isFailing = false;
    faults.delete(target);
  });
  // pino calls it for a fatal line and at the exit, and it tries again without an end.
  const flush = lines.flushSync.bind(lines);
  lines.flushSync = () => {
    if (isFailing) return;
    triesLeft = TRIES_TO_FLUSH;
    try {
      flush();
    } catch {
      isFailing = true;
    } finally {
      triesLeft = Number.POSITIVE_INFINITY;
    }
  };
  return lines;
}

let standardError: ReturnType<typeof openLines> | undefined;

/** Standard error. One stream for all lines: of two, each could write into the other's line. */
export function standardErrorLines() {
  standardError ??= openLines({ fd: 2, sync: false });
  return standardError;
}
