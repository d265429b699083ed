// What a run leaves behind: JSON and a chart, and of a whole run the chart and the tables of docs/performance.md
// and docs/data/performance.md.
import { writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join, relative } from 'node:path';
import { type Figure, isMet } from '../figure.ts';
import type { Rounds } from '../measure.ts';
import { CACHE, ROOT } from '../root.ts';
import { toChart } from './chart.ts';
import { fillFile } from './page.ts';
import { figureRows, loadRows, notes, toMarkdown, verdict } from './table.ts';

export type Report = {
  figures: readonly Figure[];
  loads: Readonly<Record<string, Rounds>>;
  quick: boolean;
  isWhole: boolean;
  jsonFile: string | undefined;
};

const PAGE = join(ROOT, 'docs/performance.md');
/** What is too long for the page. */
const DATA = join(ROOT, 'docs/data/performance.md');

export function writeReports(report: Report): void {
  const { figures, loads, quick, isWhole } = report;
  const machine = describeMachine();
  const jsonFile = report.jsonFile ?? join(CACHE, 'results.json');
  const chartFile = isWhole ? join(ROOT, 'docs/data/performance.svg') : join(CACHE, 'performance.svg');
  const judged = figures.map((figure) => ({ ...figure, met: isMet(figure) ?? null }));
  const time = new Date().toISOString();
  writeFileSync(jsonFile, `${JSON.stringify({ time, quick, machine, figures: judged, loads }, null, 2)}\n`);
  writeFileSync(chartFile, toChart(figures));
  const written = [jsonFile, chartFile];
  if (isWhole) {
    const measured = `Measured on ${time.slice(0, 10)} with ${machine}.`;
    fillFile(PAGE, {
      verdict: verdict(figures, time.slice(0, 10)),
      measured: `${measured}\n\n${toMarkdown(figureRows(figures))}`,
    });
    const lines = notes(figures).map((note) => `- ${note}`);
    fillFile(DATA, { loads: [measured, toMarkdown(loadRows(loads)), lines.join('\n')].join('\n\n') });
    written.push(PAGE, DATA);
  }
  process.stdout.write(`Written: ${written.map((file) => relative(ROOT, file)).join(', ')}\n`);
  if (isWhole)
    process.stdout.write('Now run "node test/bench/growth.ts": docs/scaling.md counts with these figures.\n');
}

function describeMachine(): string {
  const [first] = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  return `Node ${process.versions.node}, ${cpus().length} × ${first?.model.trim()}, ${memory} GiB`;
}
