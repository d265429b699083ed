// Creates the process's logger on standard error: JSON lines, or readable lines on a terminal. Frequent refusals are sampled.
import { type DestinationStream, type Logger, multistream, pino } from 'pino';
import type { LogLevel } from '../process/common-config.ts';
import { standardErrorLines } from './lines.ts';
import { createLogView } from './log-view.ts';

export type { Logger };

/** `name` is the program's name, written on every line. Default of `stream`: standard error. */
export function createLogger(
  name: string,
  level: LogLevel,
  stream: DestinationStream = process.stderr.isTTY ? terminal() : standardErrorLines(),
): Logger {
  return pino({ name, level, base: { name } }, stream);
}

/** A stream that writes all lines to `file`, and errors to the terminal as well. */
export function createTerminalErrors(file: DestinationStream): DestinationStream {
  return multistream([
    { level: 'trace', stream: file },
    { level: 'error', stream: terminal() },
  ]);
}

/** Node evaluates NO_COLOR and the terminal's colour support. */
function terminal(): DestinationStream {
  return createLogView(process.stderr, { colours: process.stderr.hasColors() });
}

/** Refusals per second that are logged in full. */
const LINES_PER_SECOND = 10;
const WINDOW_MS = 1000;

type RefusalLine = { level: 'info' | 'warn'; reason: string; fields: object; msg: string };
type RefusalLog = { write(line: RefusalLine): void };

/** Logs further refusals of a second as one line with the count of each reason. */
export function createRefusalLog(logger: Logger, tier: string): RefusalLog {
  let left = LINES_PER_SECOND;
  let windowEndsMs = Number.NEGATIVE_INFINITY;
  let omitted = new Map<string, number>();
  const tell = () => {
    const all = omitted;
    omitted = new Map();
    const count = [...all.values()].reduce((sum, each) => sum + each, 0);
    logger.warn({ tier, count, reasons: Object.fromEntries(all) }, 'more refusals');
  };
  return {
    write({ level, reason, fields, msg }) {
      if (!logger.isLevelEnabled(level)) return;
      const now = performance.now();
      if (now >= windowEndsMs) [left, windowEndsMs] = [LINES_PER_SECOND, now + WINDOW_MS];
      if (left > 0) {
        left -= 1;
        logger[level](fields, msg);
        return;
      }
      if (omitted.size === 0) setTimeout(tell, windowEndsMs - now).unref();
      omitted.set(reason, (omitted.get(reason) ?? 0) + 1);
    },
  };
}
