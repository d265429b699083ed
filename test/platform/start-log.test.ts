// The log that npm start keeps in DATA_DIR while it runs on a terminal.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
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
  expect(files.flatMap(linesOf)).toEqual(Array.from({ length: 1500 }, (_, index) => index));
  const [old, now] = files.map((file) => statSync(file));
  expect(Math.floor((old?.size ?? 0) / 2 ** 20)).toBe(10);
  expect(now?.size).toBeLessThan(6 * 2 ** 20);
  expect([old, now].map((file) => (file?.mode ?? 0) & 0o777)).toEqual([0o600, 0o600]);
});

test.runIf(hasTerminal)('what an earlier start has written counts towards the 10 MiB', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'srs-log-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'log'), `${'x'.repeat(6 * 2 ** 20)}\n`);
  const program = join(import.meta.dirname, 'fixtures/long-log.ts');
  expect(await startOnTerminal(`${process.execPath} ${program} ${folder}`, process.env).ended).toBe(0);
  expect(Math.floor(statSync(join(folder, 'log.old')).size / 2 ** 20)).toBe(10);
});

test.runIf(hasTerminal)('a log that somebody has deleted is there again after 10 MiB', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'srs-log-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const program = join(import.meta.dirname, 'fixtures/long-log.ts');
  const command = `${process.execPath} ${program} ${folder} deleted`;
  expect(await startOnTerminal(command, process.env).ended).toBe(0);
  expect(readdirSync(folder)).toEqual(['log']);
  const lines = linesOf(join(folder, 'log'));
  expect(lines).toEqual(Array.from({ length: lines.length }, (_, index) => 1500 - lines.length + index));
  expect(statSync(join(folder, 'log')).size).toBeLessThan(6 * 2 ** 20);
});

test.runIf(hasTerminal)(
  'an error is on the terminal as well, and what is less stays in the file',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'srs-log-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const program = join(import.meta.dirname, 'fixtures/log-levels.ts');
    const terminal = startOnTerminal(`${process.execPath} ${program} ${folder}`, {
      ...process.env,
      NO_COLOR: '1',
    });
    expect(await terminal.ended).toBe(0);
    expect(terminal.screen()).toMatch(/^\S+ ERROR start a line of error\n\S+ FATAL start a line of fatal\n$/);
    expect(readFileSync(join(folder, 'log'), 'utf8').match(/a line of \w+/g)).toEqual([
      'a line of info',
      'a line of warn',
      'a line of error',
      'a line of fatal',
    ]);
  },
);

const linesOf = (file: string): unknown[] =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).line);
