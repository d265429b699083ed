// Holds the table of docs/operations/deploy.md, by which firewalls are set, against what the programs ask for.
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { type Environment, readEnvironment } from '../../services/platform/process/config.ts';
import { root } from '../support/processes.ts';

test.each([
  ['PostgreSQL 15 or newer', 'DATABASE_URL', ['accounts', 'reminders', 'scheduling']],
  ['Redis 7 or newer', 'REDIS_URL', ['rest']],
  ['`npm run accounts`', 'ACCOUNTS_URL', ['gateway', 'reminders', 'rest']],
  ['`npm run scheduling`', 'SCHEDULING_URL', ['gateway', 'reminders', 'rest']],
  ['`npm run reminders`', 'REMINDERS_URL', ['gateway']],
])(
  'the page says that %s is reachable from every program that reads %s',
  async (part, variable, programs) => {
    expect(await readersOf(variable)).toEqual(programs);
    const page = readFileSync(join(root, 'docs/operations/deploy.md'), 'utf8');
    const row = page.split('\n').find((line) => line.startsWith(`| ${part}`)) ?? '';
    const reachableFrom = row.split('|').at(-2) ?? '';
    for (const program of programs) expect(reachableFrom).toMatch(new RegExp(`\\b${program}\\b`));
  },
);

/** The programs whose configuration reads `variable`. */
async function readersOf(variable: string): Promise<string[]> {
  const readers: string[] = [];
  for (const file of globSync('{services/*,gateway}/config.ts', { cwd: root })) {
    const asked = new Set<string>();
    const recording = new Proxy<Environment>({}, { get: (_, name) => void asked.add(String(name)) });
    const module: Record<string, unknown> = await import(join(root, file));
    const [read] = Object.entries(module).flatMap(([name, value]) =>
      /^read\w+Config$/.test(name) ? [value] : [],
    );
    if (typeof read !== 'function') throw new Error(`${file} has no reader`);
    // Nothing is set, so what is required is reported as missing: only the asking matters.
    expect(() => readEnvironment(recording, (reader) => void read(reader))).not.toThrow(TypeError);
    if (asked.has(variable)) readers.push(basename(dirname(file)));
  }
  return readers.toSorted();
}
