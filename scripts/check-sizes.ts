// What fits in a head: no source file of the services and the gateway has over 200 lines, and no folder over 14 files.
// Folders of migrations may have more, since released migrations stay.
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const MAX_LINES = 200;
const MAX_FILES = 14;

const root = dirname(import.meta.dirname);
const files = globSync('{services,gateway}/**/*.{ts,js,css,graphql,sql,html,json}', { cwd: root });
const long = files.flatMap((file) => {
  const lines = readFileSync(join(root, file), 'utf8').split('\n').length - 1;
  return lines > MAX_LINES ? [`${file} has ${lines} lines, over ${MAX_LINES}`] : [];
});
const full = [...Map.groupBy(files, dirname)].flatMap(([folder, { length }]) =>
  length > MAX_FILES && basename(folder) !== 'migrations'
    ? [`${folder} has ${length} files, over ${MAX_FILES}`]
    : [],
);
const problems = [...long, ...full];
if (problems.length > 0) {
  process.stderr.write(`${problems.join('\n')}\n`);
  process.exitCode = 1;
}
