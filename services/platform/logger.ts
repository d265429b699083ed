// Makes the process's logger: JSON lines on standard error, so that standard output stays for what people asked for.
import { destination, type Logger, pino } from 'pino';
import type { LogLevel } from './common-config.ts';

export type { Logger };

/** `name` is the program's name, written on every line. */
export function createLogger(name: string, level: LogLevel): Logger {
  return pino({ name, level, base: { name } }, destination({ fd: 2, sync: false }));
}
