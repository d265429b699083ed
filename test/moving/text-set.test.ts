// The set of texts that have come: it answers as a Set does, and leaves the heap to others.
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createTextSet } from '../../services/moving/text-set.ts';
import { ownFolder } from '../support/moving.ts';

const folder = ownFolder();
const url = (path: string) => JSON.stringify(new URL(`../../services/${path}`, import.meta.url));

test('it has what was added, and nothing else', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ maxLength: 3 })),
      fc.array(fc.string({ maxLength: 3 })),
      (added, asked) => {
        const [set, expected] = [createTextSet(), new Set(added)];
        for (const text of added) set.add(text);
        expect(asked.map((text) => set.has(text))).toEqual(asked.map((text) => expected.has(text)));
      },
    ),
  );
  const set = createTextSet();
  for (let number = 0; number < 100_000; number += 1) set.add(`added ${number}`);
  const others = Array.from({ length: 100_000 }, (_, number) => `other ${number}`);
  expect(others.filter((text) => set.has(text))).toEqual([]);
  expect(others.filter((text) => !set.has(text.replace('other', 'added')))).toEqual([]);
});

test('a CSV of 100,000 rows is read within a heap of 32 MiB', async () => {
  const path = join(folder.path(), 'words.csv');
  const rows = Array.from({ length: 100_000 }, (_, number) => `word ${number},meaning ${number}\n`);
  await writeFile(path, `title,content\n${rows.join('')}`);
  const script = `
    import { readCsv } from ${url('moving/csv/read.ts')};
    import { sendable } from ${url('moving/record.ts')};
    const findings = { add() {} };
    let count = 0;
    const records = readCsv(${JSON.stringify(path)}, { timeZone: 'UTC', nowMs: Date.now(), findings });
    for await (const record of sendable(records, findings)) count += 1;
    console.log(count);`;
  const heap = ['--max-old-space-size=32', '--max-semi-space-size=4'];
  // Not execFileSync: what other files of this process have running would stand still.
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...heap,
    '--input-type=module',
    '-e',
    script,
  ]);
  expect(stdout).toBe('100000\n');
});
