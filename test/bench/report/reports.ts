// What a run leaves behind: JSON, and of a whole run the tables of docs/performance.md.
import { writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join, relative } from 'node:path';
import { type Figure, isMet } from '../figure.ts';
import type { Rounds } from '../measure.ts';
import { ROOT } from '../root.ts';
import { fillFile } from './page.ts';
import { figureRows, loadRows, notes, toMarkdown, verdict } from './table.ts';

export type Figures = { figures: readonly Figure[]; loads: Readonly<Record<string, Rounds>> };

const PAGE = join(ROOT, 'docs/performance.md');

/** Called after each row: a run that is interrupted has kept what it measured. */
export function writeFigures(file: string, { figures, loads, quick }: Figures & { quick: boolean }): void {
  const judged = figures.map((figure) => ({ ...figure, met: isMet(figure) ?? null }));
  const time = new Date().toISOString();
  const machine = describeMachine();
  writeFileSync(file, `${JSON.stringify({ time, quick, machine, figures: judged, loads }, null, 2)}\n`);
}

/** Of a whole run. */
export function writePages({ figures, loads }: Figures): void {
  const date = new Date().toISOString().slice(0, 10);
  const measured = `Measured on ${date} with ${describeMachine()}.`;
  const lines = notes(figures).map((note) => `- ${note}`);
  fillFile(PAGE, {
    verdict: verdict(figures, date),
    measured: `${measured}\n\n${toMarkdown(figureRows(figures))}`,
    loads: [measured, toMarkdown(loadRows(loads)), lines.join('\n')].join('\n\n'),
  });
  process.stdout.write(`Written: ${relative(ROOT, PAGE)}\n`);
}

function describeMachine(): string {
  const [first] = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  return `Node ${process.versions.node}, ${cpus().length} × ${first?.model.trim()}, ${memory} GiB`;
}
