// Where log lines are written. A disk that is full, or a reader that has stalled, costs lines and stops no service.
import { destination } from 'pino';

/** Lines that wait to be written; beyond it, further ones are left out. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** How often the last lines of a process are tried while the reader has no room, every 100 ms. */
const TRIES_TO_FLUSH = 10;

/** A file, or a descriptor that is open. `sync`: a line is written when its call returns. */
export function openLines(target: ({ dest: string; mode: number } | { fd: number }) & { sync: boolean }) {
  let isFailing = false;
  let triesLeft = Number.POSITIVE_INFINITY;
  const retryEAGAIN = () => {
    triesLeft -= 1;
    return triesLeft > 0;
  };
  const lines = destination({ ...target, maxLength: MAX_WAITING_BYTES, retryEAGAIN });
  lines.on('error', () => {
    isFailing = true;
  });
  lines.on('write', () => {
    isFailing = false;
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
