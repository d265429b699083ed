// Checks the import rules: a file may import only what its folder or role allows, and there are no import cycles, types included.
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const root = dirname(import.meta.dirname);

/** Files that match `of` may import files that match `may`; if `packages` is set, only those npm packages. */
type Law = { of: RegExp; may: readonly RegExp[]; packages?: readonly string[] };

const PLATFORM = /^services\/platform\//;
/** The forms in which collections come and go. */
const MOVING = /^services\/moving\//;
const CLIENT = /^services\/rest\/client\//;
const GENERATED = /^generated\//;
/** A capability's files by their names: handlers and their messages, SQL, and rules, which compute and nothing else. */
const CAPABILITIES = ['learners', 'materials', 'reviews', 'snoozes', 'statistics', 'user-data'];
const room = (name: string) => `^services/scheduling/${name}/`;
const SQL_FILE = '(([a-z-]+-)?sql|search)\\.ts$';
const RULES = new RegExp(
  `${room(`(${CAPABILITIES.join('|')})`)}(?!([a-z-]+-)?(handlers|messages)\\.ts$|${SQL_FILE})`,
);
const FSRS = new RegExp(`${room('reviews')}fsrs\\.ts$`);
/** Above the capabilities: how items share statements, what time it is for a user, and the rows that several capabilities read. */
const SHARED_SQL = /^services\/scheduling\/(gathered|clock|rows)\.ts$/;
/** And what their handlers share: messages, the checks of requests, idempotency, work in the background. */
const SHARED = /^services\/scheduling\/(messages|requests|idempotency|background)\.ts$/;
const OF_CAPABILITIES: readonly Law[] = CAPABILITIES.flatMap((name) => {
  const sql = new RegExp(`${room(name)}${SQL_FILE}`);
  const messages = new RegExp(`${room(name)}([a-z-]+-)?messages\\.ts$`);
  return [
    { of: sql, may: [sql, RULES, SHARED_SQL, PLATFORM] },
    { of: new RegExp(room(name)), may: [sql, messages, RULES, SHARED_SQL, SHARED, PLATFORM, GENERATED] },
  ];
});

/** When a reminder takes place, and what becomes of a delivery. */
const TIMES =
  /^services\/reminders\/(reminders\/(next-occurrence|reminder)|deliveries\/(delivery|decide))\.ts$/;
/** Of these, they take types. */
const CHANNELS = /^services\/reminders\/channels\/(channel|registry)\.ts$/;

/** From specific to general; the first match applies. */
const LAWS: readonly Law[] = [
  { of: PLATFORM, may: [PLATFORM] },
  { of: FSRS, may: [RULES], packages: ['ts-fsrs'] },
  { of: RULES, may: [RULES], packages: ['temporal-polyfill'] },
  { of: SHARED_SQL, may: [SHARED_SQL, RULES, PLATFORM] },
  { of: SHARED, may: [SHARED, SHARED_SQL, RULES, PLATFORM, GENERATED] },
  ...OF_CAPABILITIES,
  { of: TIMES, may: [TIMES, CHANNELS], packages: ['temporal-polyfill'] },
  {
    of: /^services\/rest\/client\/mcp\.ts$/,
    may: [CLIENT],
    packages: [
      'node:crypto',
      'node:util',
      '@modelcontextprotocol/sdk/server/mcp.js',
      '@modelcontextprotocol/sdk/server/stdio.js',
      'zod',
    ],
  },
  // A package of its own, for other people's programs.
  { of: CLIENT, may: [CLIENT], packages: [] },
  ...['scheduling', 'accounts', 'reminders', 'rest'].map((service) => ({
    of: new RegExp(`^services/${service}/`),
    may: [new RegExp(`^services/${service}/`), PLATFORM, GENERATED],
  })),
  { of: MOVING, may: [MOVING, PLATFORM, GENERATED] },
  { of: /^services\/embedded-postgres\//, may: [/^services\/embedded-postgres\//, PLATFORM] },
  // Browser code; what is generated is types alone.
  {
    of: /^gateway\/dashboard\/page\//,
    may: [/^gateway\/dashboard\/page\//, GENERATED],
    packages: ['chart.js'],
  },
  { of: /^gateway\//, may: [/^gateway\//, MOVING, PLATFORM, GENERATED] },
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
