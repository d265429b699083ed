// The import law: data walks one way, so a file may import only from the rooms listed for its own.
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const root = dirname(import.meta.dirname);

/** From the most special room to the most general: the first that a path begins with is its room. */
const LAW: readonly { room: string; may: readonly string[]; packages?: readonly string[] }[] = [
  { room: 'services/platform/', may: ['services/platform/'] },
  {
    room: 'services/scheduling/domain/',
    may: ['services/scheduling/domain/'],
    packages: ['temporal-polyfill'],
  },
  {
    room: 'services/scheduling/repositories/',
    may: ['services/scheduling/repositories/', 'services/scheduling/domain/', 'services/platform/'],
  },
  { room: 'services/scheduling/', may: ['services/scheduling/', 'services/platform/', 'generated/'] },
  { room: 'services/accounts/', may: ['services/accounts/', 'services/platform/', 'generated/'] },
  { room: 'services/rest/', may: ['services/rest/', 'services/platform/', 'generated/'] },
  // What runs in a browser.
  { room: 'gateway/dashboard/page/', may: ['gateway/dashboard/page/'], packages: ['chart.js'] },
  { room: 'gateway/', may: ['gateway/', 'services/platform/', 'generated/'] },
];

const problems: string[] = [];
for (const file of globSync('{services,gateway}/**/*.{ts,js}', { cwd: root })) {
  const law = LAW.find(({ room }) => file.startsWith(room));
  if (law === undefined) continue;
  const source = readFileSync(join(root, file), 'utf8');
  for (const [, from, imported] of source.matchAll(/\bfrom\s+'([^']+)'|\bimport\('([^']+)'\)/g)) {
    const specifier = from ?? imported ?? '';
    if (specifier.startsWith('.')) {
      const target = relative(root, join(root, dirname(file), specifier));
      if (!law.may.some((room) => target.startsWith(room))) problems.push(`${file} may not import ${target}`);
    } else if (law.packages !== undefined && !law.packages.includes(specifier)) {
      problems.push(`${file} may not import the package ${specifier}`);
    }
  }
}
if (problems.length > 0) {
  process.stderr.write(`${problems.join('\n')}\n`);
  process.exitCode = 1;
}
