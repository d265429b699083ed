// Checks the import rules: a file may import only what its folder or role allows, and there are no import cycles, types included.
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const root = dirname(import.meta.dirname);

/** Files that match `of` may import files that match `may`; if `packages` is set, only those npm packages. */
type Law = { of: RegExp; may: readonly RegExp[]; packages?: readonly string[] };

const PLATFORM = /^services\/platform\//;
const CLIENT = /^services\/rest\/client\//;
const GENERATED = /^generated\//;
/** In capability folders the suffix of a file name is its role; files without a suffix contain pure functions. */
const CAPABILITY = 'services/scheduling/(learners|materials|reviews|snoozes|statistics|user-data)';
const SQL = /^services\/scheduling\/[a-z-]+\/([a-z-]+-)?(repository|row|sql)\.ts$/;
const PURE = new RegExp(`^${CAPABILITY}/(?!([a-z-]+-)?(handlers|repository|row|sql|mapper|requests)\\.ts$)`);

/** When a reminder takes place, and what becomes of a delivery. */
const TIMES =
  /^services\/reminders\/(reminders\/(next-occurrence|reminder)|deliveries\/(delivery|position)|sending\/(decision|retries))\.ts$/;

/** From specific to general; the first match applies. */
const LAWS: readonly Law[] = [
  { of: PLATFORM, may: [PLATFORM] },
  { of: PURE, may: [PURE], packages: ['temporal-polyfill'] },
  { of: SQL, may: [SQL, PURE, PLATFORM] },
  { of: TIMES, may: [TIMES], packages: ['temporal-polyfill'] },
  // A package of its own, for other people's programs.
  { of: CLIENT, may: [CLIENT], packages: [] },
  ...['scheduling', 'accounts', 'reminders', 'rest'].map((service) => ({
    of: new RegExp(`^services/${service}/`),
    may: [new RegExp(`^services/${service}/`), PLATFORM, GENERATED],
  })),
  { of: /^services\/embedded-postgres\//, may: [/^services\/embedded-postgres\//, PLATFORM] },
  // Browser code; what is generated is types alone.
  {
    of: /^gateway\/dashboard\/page\//,
    may: [/^gateway\/dashboard\/page\//, GENERATED],
    packages: ['chart.js'],
  },
  { of: /^gateway\//, may: [/^gateway\//, PLATFORM, GENERATED] },
];

const problems: string[] = [];
const importsOf = new Map<string, string[]>();
for (const file of globSync('{services,gateway}/**/*.{ts,js}', { cwd: root })) {
  const law = LAWS.find(({ of }) => of.test(file));
  const imports: string[] = [];
  importsOf.set(file, imports);
  const source = readFileSync(join(root, file), 'utf8');
  for (const [, from, imported] of source.matchAll(/\bfrom\s+'([^']+)'|\bimport\('([^']+)'\)/g)) {
    const specifier = from ?? imported ?? '';
    if (specifier.startsWith('.')) {
      const target = relative(root, join(root, dirname(file), specifier));
      imports.push(target);
      if (law !== undefined && !law.may.some((room) => room.test(target)))
        problems.push(`${file} may not import ${target}`);
    } else if (law?.packages !== undefined && !law.packages.includes(specifier)) {
      problems.push(`${file} may not import the package ${specifier}`);
    }
  }
}
problems.push(...circles());
if (problems.length > 0) {
  process.stderr.write(`${problems.join('\n')}\n`);
  process.exitCode = 1;
}

/** One message per import cycle. */
function circles(): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const walk = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file);
    if (start >= 0) found.push(`imports in a circle: ${[...path.slice(start), file].join(' > ')}`);
    if (start >= 0 || done.has(file)) return;
    for (const imported of importsOf.get(file) ?? []) walk(imported, [...path, file]);
    done.add(file);
  };
  for (const file of importsOf.keys()) walk(file, []);
  return found;
}
