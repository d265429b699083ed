// What a server said last, for people: why it ended, and nothing of the data that a log may also hold.
import { readFileSync } from 'node:fs';

const MAX_LINES = 5;
/** Errors, details and statements are left out: they may hold what users wrote. */
const LINE = /\] ((?:LOG|FATAL|PANIC|HINT): .*)$/;

/** From the first fatal line among the last five; empty where the log says nothing. */
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
