// npm run bench: measures what docs/performance.md says, against baselines of its own.
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { runCommand, UsageError } from '../../services/platform/process/command.ts';
import { createNarrator, type Narrator } from '../../services/platform/process/narrator.ts';
import { openBench } from './bench.ts';
import type { Figure } from './figure.ts';
import type { Rounds } from './measure.ts';
import { summariseProfiles } from './report/profiles.ts';
import { writeReports } from './report/reports.ts';
import { figureRows, loadRows, notes, toText } from './report/table.ts';
import type { Outcome, Row } from './rows/row.ts';
import { ROWS } from './rows/rows.ts';
import { startComparison } from './systems/comparison.ts';

const HELP = `Measures this service against two monoliths with the same function: A, a plain one, and A+, a tuned one.

  npm run bench [-- --quick] [--rows a,b,...] [--json FILE] [--profile FOLDER]

  --quick           three rows over small data, under 2 minutes
  --rows a,b,...    only these rows: ${ROWS.map(({ name }) => name).join(', ')}
  --json FILE       file for the figures; default .bench/results.json
  --profile FOLDER  folder for CPU profiles of every Node process; prints their most expensive functions

Needs Linux and redis-server on the PATH, and takes about 15 minutes. Its data stays in .bench for the next run. A run of all
rows also writes docs/data/performance.svg and the tables in docs/performance.md and docs/data/performance.md.
`;

const text = { type: 'string' } as const;
const options = {
  quick: { type: 'boolean', default: false },
  rows: text,
  json: text,
  profile: text,
} as const;

await runCommand({ name: 'npm run bench', help: HELP, options }, async (values) => {
  const tell = createNarrator();
  if (process.platform !== 'linux')
    throw new Error('The benchmark reads CPU times from /proc: it needs Linux.');
  const { quick } = values;
  const rows = chosen(values.rows, quick);
  const profileFolder = values.profile === undefined ? undefined : resolve(values.profile);
  if (profileFolder !== undefined) mkdirSync(profileFolder, { recursive: true });
  const outcomes = await run(rows, { quick, profileFolder, tell });
  const figures = outcomes.flatMap((outcome) => outcome.figures);
  const loads = Object.fromEntries(
    outcomes.flatMap(({ row, rounds }): [string, Rounds][] => (rounds === undefined ? [] : [[row, rounds]])),
  );
  const parts = [toText(figureRows(figures)), ...notes(figures).map((note) => `${note}\n`), '\n'];
  if (Object.keys(loads).length > 0) parts.push(toText(loadRows(loads)), '\n');
  process.stdout.write(`\n${parts.join('')}`);
  const isWhole = !quick && values.rows === undefined;
  writeReports({ figures, loads, quick, isWhole, jsonFile: values.json });
  if (profileFolder !== undefined) process.stdout.write(summariseProfiles(profileFolder));
});

function chosen(names: string | undefined, quick: boolean): readonly Row[] {
  if (names === undefined) return quick ? ROWS.filter(({ isQuick }) => isQuick) : ROWS;
  const wanted = names.split(',');
  const unknown = wanted.find((name) => !ROWS.some((row) => row.name === name));
  if (unknown !== undefined) throw new UsageError(`There is no row "${unknown}".`);
  return ROWS.filter(({ name }) => wanted.includes(name));
}

/** A row that fails says so among the figures; the others go on. */
async function run(
  rows: readonly Row[],
  { quick, profileFolder, tell }: { quick: boolean; profileFolder: string | undefined; tell: Narrator },
): Promise<(Outcome & { row: string })[]> {
  const bench = await openBench({ quick, profileFolder, say: tell.say });
  const interrupt = () => void bench.close().finally(() => process.exit(130));
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  const outcomes: (Outcome & { row: string })[] = [];
  const attempt = async (row: Row, measure: () => Promise<Outcome>) => {
    tell.line(row.title);
    const outcome = await measure().catch((error: unknown) => failed(row, error));
    outcomes.push({ ...outcome, row: row.name });
  };
  try {
    if (rows.some((row) => 'compare' in row)) {
      const comparison = await startComparison(bench);
      for (const row of rows) if ('compare' in row) await attempt(row, () => row.compare(bench, comparison));
      await comparison.stop();
    }
    for (const row of rows) if ('measure' in row) await attempt(row, () => row.measure(bench));
    return outcomes;
  } finally {
    process.off('SIGINT', interrupt);
    process.off('SIGTERM', interrupt);
    tell.say('ending');
    await bench.close();
    tell.end();
  }
}

function failed({ name, title }: Row, error: unknown): Outcome {
  const reason = error instanceof Error ? error.message : String(error);
  const figure: Figure = {
    row: name,
    label: title,
    unit: '',
    judgedAs: '',
    note: `not measured: ${reason.replaceAll(/\s+/g, ' ').slice(0, 300)}`,
  };
  process.stderr.write(`${name}: ${reason}\n`);
  return { figures: [figure] };
}
