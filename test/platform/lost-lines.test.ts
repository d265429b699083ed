// Log lines that cannot be written: they are lost, and the process goes on, within its memory, and ends when it wants to.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const PROGRAM = join(import.meta.dirname, 'fixtures/many-lines.ts');
/** Less than the lines that the program logs. */
const MEMORY = '--max-old-space-size=64';

test.runIf(existsSync('/dev/full'))('a full disk ends no process and holds none up', async () => {
  const full = await open('/dev/full', 'w');
  const child = spawn(process.execPath, [MEMORY, PROGRAM], { stdio: ['ignore', 'ignore', full.fd] });
  expect(await once(child, 'exit')).toEqual([3, null]);
  await full.close();
});

test('a reader that has stalled ends no process and holds none up', async () => {
  const child = spawn(process.execPath, [MEMORY, PROGRAM], { stdio: ['ignore', 'ignore', 'pipe'] });
  expect(await once(child, 'exit')).toEqual([3, null]);
});
