// The PostgreSQL of every test, and the table of what a run of the faults has measured.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestProject } from 'vitest/node';
import setupPostgres from '../../support/global-setup.ts';
import type { Figure } from './figures.ts';
import { ROUNDS } from './rounds.ts';

const PROMISES = join(dirname(dirname(dirname(import.meta.dirname))), 'docs/promises.md');
const [BEGIN, END] = ['<!-- measured: begin -->', '<!-- measured: end -->'];

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'srs-figures-'));
  const file = join(folder, 'figures.jsonl');
  project.provide('figuresFile', file);
  const stopPostgres = await setupPostgres(project);
  return async () => {
    await stopPostgres();
    const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
    rmSync(folder, { recursive: true });
    if (lines.length === 0) return;
    const table = toTable(lines.map((line) => JSON.parse(line)));
    process.stdout.write(`\n${table}\n`);
    // Only what was measured in full, and all of it, replaces what was.
    if (ROUNDS >= 20 && project.vitest.state.getPaths().length > 5) writeInto(PROMISES, table);
  };
}

function toTable(figures: readonly Figure[]): string {
  const rows = figures.map(
    ({ promise, measured, bar, unit, over }) =>
      `| ${promise} | ${format(measured)} ${unit} | ${format(bar)} ${unit} | ${over} |`,
  );
  return ['| time | measured | promised | over |', '|---|---|---|---|', ...rows].join('\n');
}

const format = (value: number) => String(Number(value.toPrecision(3)));

function writeInto(path: string, table: string): void {
  const text = readFileSync(path, 'utf8');
  const date = new Date().toISOString().slice(0, 10);
  const [before] = text.split(BEGIN);
  const [, after] = text.split(END);
  writeFileSync(path, `${before}${BEGIN}\nMeasured on ${date}:\n\n${table}\n${END}${after}`);
}
