// The log that npm start keeps in DATA_DIR while it runs on a terminal.
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { hasTerminal, startOnTerminal } from '../support/terminal.ts';

test.runIf(hasTerminal)('a log of 10 MiB becomes log.old, and no line is lost', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'srs-log-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const program = join(import.meta.dirname, 'fixtures/long-log.ts');
  expect(await startOnTerminal(`${process.execPath} ${program} ${folder}`, process.env).ended).toBe(0);
  const files = [join(folder, 'log.old'), join(folder, 'log')];
  const lines = files.flatMap((file) => readFileSync(file, 'utf8').trim().split('\n'));
  expect(lines.map((line) => JSON.parse(line).line)).toEqual(
    Array.from({ length: 1500 }, (_, index) => index),
  );
  const [old, now] = files.map((file) => statSync(file));
  expect(Math.floor((old?.size ?? 0) / 2 ** 20)).toBe(10);
  expect(now?.size).toBeLessThan(6 * 2 ** 20);
  expect([old, now].map((file) => (file?.mode ?? 0) & 0o777)).toEqual([0o600, 0o600]);
});
