// Writes what docs/scaling.md shows of growth: the figures as JSON, the plot, the tables.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Figures, readBench, readReplicas, readReviewLog } from './growth/figures.ts';
import { measureMaterialBytes } from './growth/material-bytes.ts';
import { toPlot } from './growth/plot.ts';
import { toTables } from './growth/tables.ts';
import { ROOT } from './root.ts';

const HELP = `Draws docs/scaling.svg and fills the tables of docs/scaling.md from docs/scaling.json.

  node test/bench/growth.ts [--bench FILE] [--review-log FILE,FILE] [--replicas FILE] [--materials]

  --bench FILE            first takes CPU per request from what "npm run bench -- --rows due,review --json FILE" wrote
  --review-log FILE,FILE  first takes the review log from what "node test/bench/review-log.ts --json FILE" wrote, the
                          smaller first
  --replicas FILE         first takes one against two of each from what "node test/bench/replicas.ts --json FILE" wrote
  --materials             first measures anew how much room a material takes; about a minute
`;

const FIGURES = join(ROOT, 'docs/scaling.json');
const PLOT = join(ROOT, 'docs/scaling.svg');
const PAGE = join(ROOT, 'docs/scaling.md');

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const { values } = parseArgs({
  options: { bench: text, 'review-log': text, replicas: text, materials: flag, help: flag },
});
if (values.help) process.stdout.write(HELP);
else await main();

async function main(): Promise<void> {
  const kept: Partial<Figures> = existsSync(FIGURES) ? JSON.parse(readFileSync(FIGURES, 'utf8')) : {};
  const logFiles = values['review-log']?.split(',');
  const given = [values.bench, logFiles, values.replicas, values.materials];
  const isNew = given.some((value) => value !== undefined);
  const figures = {
    ...kept,
    ...(isNew && { measuredOn: new Date().toISOString().slice(0, 10) }),
    ...(values.bench !== undefined && readBench(values.bench)),
    ...(logFiles !== undefined && { reviewLogs: logFiles.map(readReviewLog) }),
    ...(values.replicas !== undefined && { replicas: readReplicas(values.replicas) }),
    ...(values.materials === true && { materialBytes: await measureMaterialBytes() }),
  };
  const whole = requireWhole(figures);
  writeFileSync(FIGURES, `${JSON.stringify(whole, null, 2)}\n`);
  writeFileSync(PLOT, toPlot(whole));
  writeFileSync(PAGE, fillPage(readFileSync(PAGE, 'utf8'), whole));
}

function requireWhole(figures: Partial<Figures>): Figures {
  const { measuredOn, machine, cpu, materialBytes, replicas, reviewLogs } = figures;
  if (!measuredOn || !machine || !cpu || !materialBytes || !replicas || !reviewLogs)
    throw new Error(
      'docs/scaling.json is not whole: give --bench, --review-log, --replicas and --materials once',
    );
  return { measuredOn, machine, cpu, materialBytes, replicas, reviewLogs };
}

/** Each part of the page between <!-- name --> and <!-- /name --> is replaced. */
function fillPage(page: string, figures: Figures): string {
  let filled = page;
  for (const [name, table] of Object.entries(toTables(figures))) {
    const [before, rest] = split(filled, `<!-- ${name} -->\n`);
    const [, after] = split(rest, `<!-- /${name} -->`);
    filled = `${before}<!-- ${name} -->\n\n${table}\n\n<!-- /${name} -->${after}`;
  }
  return filled;
}

function split(page: string, mark: string): [string, string] {
  const place = page.indexOf(mark);
  if (place < 0) throw new Error(`docs/scaling.md has no ${mark.trim()}`);
  return [page.slice(0, place), page.slice(place + mark.length)];
}
