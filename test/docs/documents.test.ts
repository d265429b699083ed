// Holds the documents against what they speak of: files, variables, packages, scripts, errors.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { type Environment, readEnvironment } from '../../services/platform/config.ts';
import { ERROR_CATALOGUE } from '../../services/platform/errors.ts';
import { INITIAL_SCHEDULE, type Quality, reviewSchedule } from '../../services/scheduling/domain/sm2.ts';

const root = dirname(dirname(import.meta.dirname));
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const documents = ['README.md', 'CHANGELOG.md', ...globSync('docs/**/*.md', { cwd: root })];

test.each(documents)('%s links only to what exists', (document) => {
  const targets = [...read(document).matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, target = '']) => target);
  const local = targets.filter((target) => !/^[a-z]+:/.test(target));
  expect(local.filter((target) => !existsSync(join(root, dirname(document), target)))).toEqual([]);
});

/** Every variable that the code reads: those that config.ts files ask for when run, and those named in any other reading. */
async function variablesOfTheCode(): Promise<string[]> {
  const asked = new Set<string>();
  const recording = new Proxy<Environment>({}, { get: (_, name) => void asked.add(String(name)) });
  for (const file of globSync('{services,gateway}/*/config.ts', { cwd: root })) {
    const module: Record<string, unknown> = await import(join(root, file));
    for (const [name, readConfig] of Object.entries(module)) {
      if (!/^read\w+Config$/.test(name) || typeof readConfig !== 'function') continue;
      // Nothing is set, so what is required is reported as missing: only the asking matters.
      expect(() => readEnvironment(recording, (reader) => void readConfig(reader))).not.toThrow(TypeError);
    }
  }
  const reading = /reader\.\w+\(\s*'([A-Z][A-Z_]+)'|\b(?:environment|process\.env)\.([A-Z][A-Z_]+)/g;
  for (const file of globSync('{services,gateway}/**/*.ts', { cwd: root })) {
    for (const [, a, b] of read(file).matchAll(reading)) asked.add(a ?? b ?? '');
  }
  return [...asked].toSorted();
}

test('.env.example names them as well, beside only those that docker-compose.yml reads', async () => {
  const variables = await variablesOfTheCode();
  const named = [...read('.env.example').matchAll(/^(?:# )?([A-Z_]+)=/gm)].map(([, name = '']) => name);
  expect(named).toEqual(expect.arrayContaining(variables));
  const others = named.filter((name) => !variables.includes(name));
  const compose = read('docker-compose.yml');
  expect(others.filter((name) => !compose.includes(`\${${name}:`))).toEqual([]);
});

test('the README’s table of configuration holds the variables that the code reads, and no other', async () => {
  const [, section = ''] = read('README.md').split('\n## Configuration\n');
  const [table = ''] = section.split('\n## ');
  const rows = [...table.matchAll(/^\| (`[A-Z][^|]*)\|/gm)].map(([, names = '']) => names);
  const listed = rows.flatMap((names) => [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name));
  expect(listed.toSorted()).toEqual(await variablesOfTheCode());
});

test('every package has its line in docs/dependencies.md, and none that is gone has one', () => {
  const manifest: Record<string, Record<string, string>> = JSON.parse(read('package.json'));
  const packages = ['dependencies', 'optionalDependencies', 'devDependencies'].flatMap((kind) =>
    Object.keys(manifest[kind] ?? {}),
  );
  const listed = [...read('docs/dependencies.md').matchAll(/^\| `([^`]+)`/gm)].map(([, name = '']) => name);
  expect(listed.toSorted()).toEqual(packages.toSorted());
});

test('the README’s table of errors is the catalogue', () => {
  const rows = [...read('README.md').matchAll(/^\| (\d{3}) \| `(\w+)` \|/gm)].map(([, status, code]) => [
    Number(status),
    code,
  ]);
  const catalogue = Object.entries(ERROR_CATALOGUE)
    .filter(([reason]) => reason !== 'INVALID_SCOPE')
    .map(([reason, { httpStatus }]) => [httpStatus, reason.toLowerCase()]);
  expect(rows.toSorted()).toEqual(catalogue.toSorted());
});

test('the vectors in docs/decisions.md are what SM-2 here yields', () => {
  const rows = [
    ...read('docs/decisions.md').matchAll(/^\| ([0-5](?: [0-5])+) \| ([\d ]+) \| ([\d.]+) \|$/gm),
  ];
  expect(rows.length).toBe(8);
  for (const [row, grades = '', intervals, easeFactor] of rows) {
    let schedule = INITIAL_SCHEDULE;
    // Each grade is one digit from 0 to 5, by the pattern above.
    const days = grades.split(' ').map((grade) => {
      schedule = reviewSchedule(schedule, Number(grade) as Quality);
      return schedule.intervalDays;
    });
    expect([days.join(' '), `${schedule.easeFactorHundredths / 100}`], row).toEqual([intervals, easeFactor]);
  }
});

test('every npm script that a document names exists', () => {
  const { scripts }: { scripts: Record<string, string> } = JSON.parse(read('package.json'));
  const named = documents.flatMap((document) =>
    [...read(document).matchAll(/npm run (?:--silent )?([a-z]+)/g)].map(([, name = '']) => name),
  );
  expect(named).toContain('keys');
  expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
});
