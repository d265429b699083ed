// Extracts from a server's log why it ended, without user data.
import { readFileSync } from 'node:fs';

const MAX_LINES = 5;
/** Excludes errors, details and statements, which can contain user data. */
const LINE = /\] ((?:LOG|FATAL|PANIC|HINT): .*)$/;

/** From the first fatal line among the last five; empty if there is none. */
export function lastWords(log: string): string {
  const lines = readLog(log).slice(-MAX_LINES);
  const fatal = lines.findIndex((line) => /^(FATAL|PANIC)/.test(line));
  return lines.slice(Math.max(0, fatal)).join('; ');
}

function readLog(log: string): string[] {
  try {
    return readFileSync(log, 'utf8')
      .split('\n')
      .flatMap((line) => LINE.exec(line)?.[1] ?? []);
  } catch {
    return [];
  }
}
