// Log and audit lines that cannot be written: they are lost, and the process goes on, within its memory, and ends when it wants to.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { freePort } from '../../services/platform/process/ports.ts';
import { root } from '../support/processes.ts';

test.runIf(existsSync('/dev/full'))('a full disk ends no process and holds none up', async () => {
  const full = await open('/dev/full', 'w');
  const child = spawn(process.execPath, [MEMORY, ...PROGRAM], { stdio: ['ignore', 'pipe', full.fd] });
  expect(await Promise.all([child.stdout && text(child.stdout), once(child, 'exit')])).toEqual([
    'cannot be written (ENOSPC)\n',
    [3, null],
  ]);
  await full.close();
});

test.runIf(existsSync('/dev/full'))('a warning of Node that finds a full disk ends no service', async () => {
  const full = await open('/dev/full', 'w');
  const port = await freePort();
  const [node, program] = [PROGRAM.slice(0, 2), join(root, 'services/rest/main.ts')];
  const warn = `process.on('SIGUSR2', () => {
    process.emitWarning('nobody reads this');
    setTimeout(() => process.kill(process.pid, 'SIGTERM'), 500);
  })`;
  const preload = ['--import', `data:text/javascript,${encodeURIComponent(warn)}`];
  const child = spawn(process.execPath, [...node, ...preload, program], {
    stdio: ['ignore', 'ignore', full.fd],
    env: { PATH: process.env.PATH, REST_PORT: `${port}`, LOG_LEVEL: 'error' },
  });
  const ended = once(child, 'exit');
  await expect.poll(() => fetch(`http://127.0.0.1:${port}/v1/me`).catch(() => undefined)).toBeDefined();
  child.kill('SIGUSR2');
  expect(await ended).toEqual([0, null]);
  await full.close();
});

test('a reader that has stalled ends no process and holds none up', async () => {
  const child = spawn(process.execPath, [MEMORY, ...PROGRAM], { stdio: ['ignore', 'pipe', 'pipe'] });
  expect(await Promise.all([text(child.stdout), once(child, 'exit')])).toEqual([
    'nobody reads it\n',
    [3, null],
  ]);
});

test('all audit lines are written where they are read', async () => {
  const child = spawn(process.execPath, [...PROGRAM, '100'], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [said, lines] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  expect(said).toBe('undefined\n');
  const audited = lines.split('\n').filter((line) => line.includes('"audit":true'));
  // The last ones are written at the end at once, and can come before one that is under way.
  const written = audited.map((line) => Number(JSON.parse(line).requestId));
  expect(written.toSorted((a, b) => a - b)).toEqual([...Array(100).keys()]);
});

/** What keeps what Node makes of the code comes first, as before every program. */
const PROGRAM = [
  '--import',
  join(root, 'services/platform/process/require-node.js'),
  join(import.meta.dirname, 'fixtures/many-lines.ts'),
];
/** Less than the lines that the program logs. */
const MEMORY = '--max-old-space-size=64';
