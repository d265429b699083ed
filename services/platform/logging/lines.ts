// Where log lines are written. A disk that is full, or a reader that has stalled, costs lines and stops no service.
import { destination } from 'pino';
import { errorCode } from '../thrown.ts';

/** Lines that wait to be written; beyond it, further ones are left out. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** How long the last lines of a process are tried. */
const MAX_FLUSH_MS = 1000;
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
  let flushEndMs = Number.POSITIVE_INFINITY;
  const retryEAGAIN = () => {
    faults.set(target, STALLED);
    return performance.now() < flushEndMs;
  };
  const lines = destination({ ...target, maxLength: MAX_WAITING_BYTES, retryEAGAIN });
  lines.on('error', (error: unknown) => {
    isFailing = true;
    const code = errorCode(error);
    faults.set(target, code === 'EAGAIN' ? STALLED : `cannot be written (${code})`);
  });
  lines.on('drop', () => faults.set(target, faults.get(target) ?? STALLED));
  lines.on('write', () => {
    isFailing = false;
    faults.delete(target);
  });
  // pino calls it for a fatal line and at the exit. It tries again without an end, unless EAGAIN is the fault and retryEAGAIN says no.
  const flush = lines.flushSync.bind(lines);
  lines.flushSync = () => {
    if (isFailing) return;
    // Its type leaves the descriptor out.
    const { fd } = lines as unknown as { fd: number };
    flushEndMs = performance.now() + MAX_FLUSH_MS;
    const get = () => {
      if (performance.now() < flushEndMs) return fd;
      throw Object.assign(new Error('the last lines cannot be written'), { code: 'EAGAIN' });
    };
    // It reads this property before each try.
    Object.defineProperty(lines, 'fd', { get, configurable: true });
    try {
      flush();
    } catch {
      isFailing = true;
    } finally {
      flushEndMs = Number.POSITIVE_INFINITY;
      Object.defineProperty(lines, 'fd', { value: fd, writable: true });
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
