// The process's log on standard error, as JSON or, on a terminal, for people; the audit log; and the sampling of frequent refusals.
import { type DestinationStream, destination, type Logger, multistream, pino } from 'pino';
import type { LogLevel } from '../process/common-config.ts';
import { errorCode } from '../thrown.ts';
import { createLogView } from './log-view.ts';

export type { Logger };

/** Lines that wait to be written; beyond it, further ones are lost. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** How long a process that ends tries to write its last lines. */
const MAX_FLUSH_MS = 1000;
const STALLED = 'nobody reads it';

/** The streams that cannot be written to now, each with the reason. */
const faults = new Map<object, string>();

/** Why lines of this process cannot be written now; undefined if they can. */
export function whyLinesWait(): string | undefined {
  return faults.values().next().value;
}

/**
 * Opens a stream of lines to a file or an open descriptor. `sync`: a line has been written when its call returns. A full disk or a
 * stalled reader loses lines, but does not stop the service.
 */
export function openLines(target: ({ dest: string; mode: number } | { fd: number }) & { sync: boolean }) {
  let flushEndMs = Number.POSITIVE_INFINITY;
  const retryEAGAIN = () => {
    faults.set(target, STALLED);
    return performance.now() < flushEndMs;
  };
  const lines = destination({ ...target, maxLength: MAX_WAITING_BYTES, retryEAGAIN });
  lines.on('error', (error: unknown) => {
    const code = errorCode(error);
    faults.set(target, code === 'EAGAIN' ? STALLED : `cannot be written (${code})`);
  });
  lines.on('drop', () => faults.set(target, faults.get(target) ?? STALLED));
  lines.on('write', () => faults.delete(target));
  // pino calls it for a fatal line and at the exit. On a full disk it would try without end.
  const flush = lines.flushSync.bind(lines);
  lines.flushSync = () => {
    if (faults.has(target) && faults.get(target) !== STALLED) return;
    flushEndMs = performance.now() + MAX_FLUSH_MS;
    try {
      flush();
    } catch {
      // The reader has stalled. These lines are lost.
    }
    flushEndMs = Number.POSITIVE_INFINITY;
  };
  return lines;
}

let standardError: ReturnType<typeof openLines> | undefined;

/** One stream for all lines: two could write into the middle of each other's lines. */
function standardErrorLines() {
  standardError ??= openLines({ fd: 2, sync: false });
  return standardError;
}

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

/** Who changed what; never contains a key, a title or content. */
export type AuditEntry = {
  /** The action, done or refused, such as "createApiKey". */
  action: string;
  /** The actor: a program, or a program and a token name. */
  caller: string;
  /** "ok", or the error code. */
  outcome: string;
  requestId: string;
  /** IDs of what it affects, by their names, such as userId. */
  targets: Readonly<Record<string, string | readonly string[]>>;
};

export type Audit = (entry: AuditEntry) => void;

/**
 * Lines go to `stream` as JSON with `"audit":true`, at any LOG_LEVEL; default: standard error. The action is done, so a line that
 * cannot be written fails nothing. `name` is the program's name.
 */
export function createAudit(name: string, stream: DestinationStream = standardErrorLines()): Audit {
  const lines = pino({ name, level: 'info', base: { name, audit: true } }, stream);
  return ({ targets, ...entry }) => lines.info({ ...entry, ...targets });
}

/** Refusals per second that are logged in full. */
const LINES_PER_SECOND = 10;
const WINDOW_MS = 1000;

type RefusalLine = { level: 'info' | 'warn'; reason: string; fields: object; msg: string };
type RefusalLog = { write(line: RefusalLine): void };

/** Logs the first 10 refusals of a second in full, and the rest as one line with the count of each reason. */
export function createRefusalLog(logger: Logger, tier: string): RefusalLog {
  let left = LINES_PER_SECOND;
  let windowEndsMs = Number.NEGATIVE_INFINITY;
  let omitted = new Map<string, number>();
  const writeOmitted = () => {
    const all = omitted;
    omitted = new Map();
    // A timer may end up to a millisecond early: what follows the line belongs to the next second.
    windowEndsMs = Number.NEGATIVE_INFINITY;
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
      if (omitted.size === 0) setTimeout(writeOmitted, windowEndsMs - now).unref();
      omitted.set(reason, (omitted.get(reason) ?? 0) + 1);
    },
  };
}
