// Writes what docs/scaling.md and docs/review-log.md show of growth: the figures as JSON, the plot, the tables.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from '../../services/platform/process/command.ts';
import { type KeptFigures, readCpu, readReplicas, readReviewLog } from './growth/figures.ts';
import { measureMaterialBytes } from './growth/material-bytes.ts';
import { toPlot } from './growth/plot.ts';
import { toTables } from './growth/tables.ts';
import { fillFile } from './report/page.ts';
import { ROOT } from './root.ts';

const HELP = `Draws docs/data/scaling.svg and fills the tables of docs/scaling.md and docs/review-log.md from docs/data/scaling.json,
and CPU per request from docs/data/performance.md. Run it after npm run bench.

  node test/bench/growth.ts [--review-log FILE,FILE] [--replicas FILE] [--materials]

  --review-log FILE,FILE  first reads the review log from the output of "node test/bench/review-log.ts --json FILE",
                          the smaller one first
  --replicas FILE         first reads the comparison of one and two processes from the output of
                          "node test/bench/replicas.ts --json FILE"
  --materials             first measures the size of a material; about a minute
`;

const FIGURES = join(ROOT, 'docs/data/scaling.json');
const BENCH = join(ROOT, 'docs/data/performance.md');
const PLOT = join(ROOT, 'docs/data/scaling.svg');
const PAGE = join(ROOT, 'docs/scaling.md');
const LOG_PAGE = join(ROOT, 'docs/review-log.md');

const text = { type: 'string' } as const;
const options = { 'review-log': text, replicas: text, materials: { type: 'boolean' } } as const;

await runCommand({ name: 'node test/bench/growth.ts', help: HELP, options }, async (values) => {
  const kept: Partial<KeptFigures> = existsSync(FIGURES) ? JSON.parse(readFileSync(FIGURES, 'utf8')) : {};
  const logFiles = values['review-log']?.split(',');
  const given = [logFiles, values.replicas, values.materials];
  const isNew = given.some((value) => value !== undefined);
  const figures = {
    ...kept,
    ...(isNew && { measuredOn: new Date().toISOString().slice(0, 10) }),
    ...(logFiles !== undefined && { reviewLogs: logFiles.map(readReviewLog) }),
    ...(values.replicas !== undefined && { replicas: readReplicas(values.replicas) }),
    ...(values.materials === true && { materialBytes: await measureMaterialBytes() }),
  };
  const measured = requireWhole(figures);
  writeFileSync(FIGURES, `${JSON.stringify(measured, null, 2)}\n`);
  const whole = { ...measured, cpu: readCpu(readFileSync(BENCH, 'utf8')) };
  writeFileSync(PLOT, toPlot(whole));
  const { 'review-log': reviewLog, ...tables } = toTables(whole);
  fillFile(PAGE, tables);
  fillFile(LOG_PAGE, { 'review-log': reviewLog });
});

function requireWhole(figures: Partial<KeptFigures>): KeptFigures {
  const { measuredOn, machine, materialBytes, replicas, reviewLogs } = figures;
  if (!measuredOn || !machine || !materialBytes || !replicas || !reviewLogs)
    throw new Error(
      'docs/data/scaling.json is incomplete: run once with --review-log, --replicas and --materials',
    );
  return { measuredOn, machine, materialBytes, replicas, reviewLogs };
}
