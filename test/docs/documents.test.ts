// Holds the documents against what they speak of: files, variables, packages, scripts, errors.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buildSchema, parse, validate } from 'graphql';
import { expect, test } from 'vitest';
import { readTypeDefinitions } from '../../gateway/schema/type-definitions.ts';
import { ERROR_CATALOGUE } from '../../services/platform/errors.ts';
import { type Environment, readEnvironment } from '../../services/platform/process/config.ts';
import { SECRETS, VARIABLES, type Variable } from '../../services/platform/process/variables.ts';
import { INITIAL_SCHEDULE, type Quality, reviewSchedule } from '../../services/scheduling/reviews/sm2.ts';
import { fillParts } from '../bench/report/page.ts';
import { toVerdict } from '../faults/support/report.ts';

const root = dirname(dirname(import.meta.dirname));
const documents = ['README.md', 'CHANGELOG.md', ...globSync('docs/**/*.md', { cwd: root })];

test.each(documents)('%s links only to files and headings that exist', (document) => {
  const targets = [...read(document).matchAll(/\]\(([^)]+)\)/g)].map(([, target = '']) => target);
  const local = targets.filter((target) => !/^[a-z]+:/.test(target));
  const isBroken = (target: string) => {
    const [path = '', anchor] = target.split('#');
    const file = path === '' ? document : join(dirname(document), path);
    if (!existsSync(join(root, file))) return true;
    return anchor !== undefined && !anchorsOf(file).includes(anchor);
  };
  expect(local.filter(isBroken)).toEqual([]);
});

test.each(documents)('%s begins with one title and a summary of at most three lines', (document) => {
  const [title = '', summary = ''] = read(document).split('\n\n', 2);
  expect(title).toMatch(/^# .+$/);
  expect(summary).toMatch(/^[A-Z*`]/);
  const lines = summary.split('\n');
  expect(lines.length).toBeLessThanOrEqual(3);
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(130);
  expect(read(document).match(/^# .+$/gm)).toHaveLength(1);
});

test.each([
  ['docs/promises.md', 'verdict'],
  ['docs/promises.md', 'measured'],
  ['docs/performance.md', 'verdict'],
  ['docs/performance.md', 'measured'],
  ['docs/performance.md', 'loads'],
])('%s has the part <!-- %s -->, which a measurement fills', (page, part) => {
  expect(fillParts(read(page), { [part]: 'new' })).toContain(`<!-- ${part} -->\n\nnew\n\n<!-- /${part} -->`);
});

test('a run of the faults says how many promises are kept, and names each that is not', () => {
  const figure = { promise: 'slowest 503', measured: 19, bar: 20, unit: 'ms', over: '20 stops' } as const;
  expect(toVerdict([figure], '2026-11-22')).toBe(
    'Measured on 2026-11-22: 1 of the 1 figures in [the table](#times) are within their promise.',
  );
  expect(toVerdict([figure, { ...figure, measured: 33.84 }], '2026-11-22')).toBe(
    'Measured on 2026-11-22: 1 of the 2 figures in [the table](#times) are within their promise. **Not kept**:\n\n- slowest 503. Measured: 33.8 ms; promised: at most 20 ms (20 stops)',
  );
});

/** Every variable that the code reads: those that config.ts files ask for when run, and those named in any other reading. */
async function variablesOfTheCode(): Promise<string[]> {
  const asked = new Set<string>();
  const recording = new Proxy<Environment>({}, { get: (_, name) => void asked.add(String(name)) });
  for (const file of globSync('{services/*,gateway}/config.ts', { cwd: root })) {
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
  const files = SECRETS.map((name) => `${name}_FILE`);
  return [...asked].filter((name) => !files.includes(name)).toSorted();
}

test('.env.example has in its first part those that docker-compose.yml takes from .env', () => {
  const parts = read('.env.example').split(/^# === For npm start and services alone, .*$/m);
  const [forCompose = [], others = []] = parts.map((part) =>
    [...part.matchAll(/^(?:# )?([A-Z_]+)=/gm)].map(([, name = '']) => name),
  );
  const taken = [...read('docker-compose.yml').matchAll(/\$\{([A-Z_]+)/g)].map(([, name = '']) => name);
  expect(forCompose.toSorted()).toEqual([...new Set(taken)].toSorted());
  expect(others.filter((name) => taken.includes(name))).toEqual([]);
});

test('the table holds the variables that the code reads, and no other', async () => {
  const listed = Object.entries<Variable>(VARIABLES)
    .filter(([, { readBy }]) => !readBy.includes('docker-compose'))
    .map(([name]) => name);
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

test('the table of errors in docs/integrate.md is the catalogue', () => {
  const rows = [...read('docs/integrate.md').matchAll(/^\| (\d{3}) \| `(\w+)` \|/gm)].map(
    ([, status, code]) => [Number(status), code],
  );
  const catalogue = Object.entries(ERROR_CATALOGUE)
    .filter(
      ([reason]) =>
        !['INVALID_SCOPE', 'REVIEW_NOT_LATEST', 'MATERIAL_CHANGED', 'REVIEW_TOO_OLD'].includes(reason),
    )
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

test('every GraphQL document that a page shows is valid', () => {
  const schema = buildSchema(readTypeDefinitions());
  const shown = documents.flatMap((document) =>
    [...read(document).matchAll(/^```graphql\n([\s\S]*?)^```/gm)].map(([, text = '']) => text),
  );
  expect(shown).toHaveLength(2);
  expect(shown.flatMap((text) => validate(schema, parse(text)))).toEqual([]);
});

test('every npm script that a document names exists', () => {
  const { scripts }: { scripts: Record<string, string> } = JSON.parse(read('package.json'));
  const named = documents.flatMap((document) =>
    [...read(document).matchAll(/npm run (?:--silent )?([a-z]+)/g)].map(([, name = '']) => name),
  );
  expect(named).toContain('keys');
  expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
});

const read = (file: string) => readFileSync(join(root, file), 'utf8');

/** Those of a page's headings that a link can name, as GitHub makes them. */
const anchorsOf = (document: string) =>
  [...read(document).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
