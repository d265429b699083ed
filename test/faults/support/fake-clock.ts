// A clock for processes that a test sets while they run: Debian's faketime. Their timers go on as before.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Its library for programs with threads; undefined where it is not installed. */
const library = spawnSync('faketime', ['-m', '-f', '+0', 'printenv', 'LD_PRELOAD'], {
  encoding: 'utf8',
}).stdout?.trim();

export const hasFakeClock = Boolean(library);

export function createFakeClock() {
  const folder = mkdtempSync(join(tmpdir(), 'srs-clock-'));
  const file = join(folder, 'offset');
  const setOffset = (seconds: number) => {
    // Complete whenever it is read.
    writeFileSync(`${file}.new`, `${seconds < 0 ? '' : '+'}${seconds}\n`);
    renameSync(`${file}.new`, file);
  };
  setOffset(0);
  return {
    /** For processes on this clock. */
    environment: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    /** Sets the clock so many seconds before (negative) or after the machine's. */
    setOffset,
    remove: () => rmSync(folder, { recursive: true }),
  };
}
