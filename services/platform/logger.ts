// Makes the process's logger, on standard error, so that standard output stays for what people asked for: JSON lines, and
// on a terminal the same for people.
import { destination, type Logger, pino } from 'pino';
import type { LogLevel } from './common-config.ts';
import { createLogView } from './log-view.ts';

export type { Logger };

/** `name` is the program's name, written on every line. */
export function createLogger(name: string, level: LogLevel): Logger {
  const options = { name, level, base: { name } };
  if (process.stderr.isTTY) {
    // Node knows NO_COLOR and terminals without colours.
    return pino(options, createLogView(process.stderr, { colours: process.stderr.hasColors() }));
  }
  return pino(options, destination({ fd: 2, sync: false }));
}
