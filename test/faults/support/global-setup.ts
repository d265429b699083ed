// The PostgreSQL of every test, and the table of what a run of the faults has measured.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { fillFile } from '../../bench/report/page.ts';
import setupPostgres from '../../support/global-setup.ts';
import type { Figure } from './figures.ts';
import { toTable, toVerdict } from './report.ts';
import { ROUNDS } from './rounds.ts';

const PAGE = join(dirname(dirname(dirname(import.meta.dirname))), 'docs/promises.md');

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
    const figures: Figure[] = lines.map((line) => JSON.parse(line));
    const table = toTable(figures);
    process.stdout.write(`\n${table}\n`);
    // Only what was measured in full, and all of it, replaces what was.
    if (ROUNDS < 20 || project.vitest.state.getPaths().length <= 5) return;
    const date = new Date().toISOString().slice(0, 10);
    fillFile(PAGE, { verdict: toVerdict(figures, date), measured: `Measured on ${date}:\n\n${table}` });
  };
}
