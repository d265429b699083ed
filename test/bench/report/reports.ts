// What a run leaves behind: JSON and a chart, and of a whole run the tables and the chart of docs/performance.md.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join, relative } from 'node:path';
import { type Figure, isMet } from '../figure.ts';
import type { Rounds } from '../measure.ts';
import { CACHE, ROOT } from '../root.ts';
import { toChart } from './chart.ts';
import { figureRows, loadRows, notes, toMarkdown } from './table.ts';

export type Report = {
  figures: readonly Figure[];
  loads: Readonly<Record<string, Rounds>>;
  quick: boolean;
  isWhole: boolean;
  jsonFile: string | undefined;
};

const PAGE = join(ROOT, 'docs/performance.md');
const MEASURED = /(<!-- measured -->\n)[\s\S]*(<!-- \/measured -->)/;

export function writeReports(report: Report): void {
  const { figures, loads, quick, isWhole } = report;
  const machine = describeMachine();
  const jsonFile = report.jsonFile ?? join(CACHE, 'results.json');
  const chartFile = isWhole ? join(ROOT, 'docs/performance.svg') : join(CACHE, 'performance.svg');
  const judged = figures.map((figure) => ({ ...figure, met: isMet(figure) ?? null }));
  const time = new Date().toISOString();
  writeFileSync(jsonFile, `${JSON.stringify({ time, quick, machine, figures: judged, loads }, null, 2)}\n`);
  writeFileSync(chartFile, toChart(figures));
  const written = [jsonFile, chartFile];
  if (isWhole && existsSync(PAGE)) {
    const text = [
      `Measured on ${time.slice(0, 10)} with ${machine}.`,
      toMarkdown(figureRows(figures)),
      notes(figures)
        .map((note) => `- ${note}`)
        .join('\n'),
      'The loads behind them, medians over the rounds:',
      toMarkdown(loadRows(loads)),
    ].join('\n\n');
    // A function: the text may hold what a replacement string means otherwise.
    writeFileSync(
      PAGE,
      readFileSync(PAGE, 'utf8').replace(MEASURED, (_, begin, end) => `${begin}\n${text}\n${end}`),
    );
    written.push(PAGE);
  }
  process.stdout.write(`Written: ${written.map((file) => relative(ROOT, file)).join(', ')}\n`);
}

function describeMachine(): string {
  const [first] = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  return `Node ${process.versions.node}, ${cpus().length} × ${first?.model.trim()}, ${memory} GiB`;
}
