// npm run bench: measures what docs/performance.md says, against baselines of its own.
import { mkdirSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { runCommand, UsageError, wholeNumber } from '../../services/platform/process/command.ts';
import { createNarrator, type Narrator } from '../../services/platform/process/terminal.ts';
import { openBench } from './bench.ts';
import type { Figure } from './figure.ts';
import type { Rounds } from './measure.ts';
import { summariseProfiles } from './report/profiles.ts';
import { type Figures, writeFigures, writePages } from './report/reports.ts';
import { figureRows, loadRows, notes, toText } from './report/table.ts';
import { CACHE, ROOT } from './root.ts';
import type { Outcome, Row } from './rows/row.ts';
import { ROWS } from './rows/rows.ts';
import { startComparison } from './systems/comparison.ts';

const HELP = `Measures this service against two monoliths with the same function: A, a plain one, and A+, a tuned one.

  npm run bench [-- --quick] [--rows a,b,...] [--against FOLDER] [--rounds N] [--seconds S] [--json FILE]
                [--profile FOLDER]

  --quick           three rows over small data, under 2 minutes
  --rows a,b,...    only these rows:
                    ${namesOf((row) => 'compare' in row)},
                    ${namesOf((row) => 'measure' in row)}
  --against FOLDER  another checkout, with its packages and what npm run generate makes; measured in turn with this one in the
                    rows ${namesOf((row) => 'compare' in row)} and dashboard
  --rounds N        how often each system has its turn; default 5, with --quick 3
  --seconds S       how long a turn is, and the warm-up; default 5 and 6, with --quick 2 and 1
  --json FILE       file for the figures; default .bench/results.json
  --profile FOLDER  folder for CPU profiles of every Node process; prints their most expensive functions

Compares A with ours, a process a service, and A+ with ours in one process, as npm start runs it. Prints each row when it is
done, and has then written it to the file. Needs Linux and redis-server on the PATH, and takes about 20 minutes. Its data stays in
.bench for the next run. A run of all rows also writes the tables in docs/performance.md.
`;

function namesOf(isMeant: (row: Row) => boolean): string {
  return ROWS.filter(isMeant)
    .map(({ name }) => name)
    .join(', ');
}

const text = { type: 'string' } as const;
const options = {
  quick: { type: 'boolean', default: false },
  rows: text,
  against: text,
  rounds: text,
  seconds: text,
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
  const { seconds, against } = values;
  const turnMs = seconds && 1000 * wholeNumber('--seconds', seconds, 1, 100);
  const pace = {
    ...(values.rounds !== undefined && { rounds: wholeNumber('--rounds', values.rounds, 1, 100) }),
    ...(turnMs && { warmUpMs: turnMs, durationMs: turnMs }),
  };
  const jsonFile = values.json ?? join(CACHE, 'results.json');
  const keep = (outcomes: readonly RowOutcome[]) => writeFigures(jsonFile, { ...collected(outcomes), quick });
  const folder = against === undefined ? undefined : resolve(against);
  const outcomes = await run(rows, { quick, pace, against: folder, profileFolder, tell, keep });
  const report = collected(outcomes);
  if (outcomes.length > 1) process.stdout.write(`\n${toReport(report)}`);
  process.stdout.write(`Written: ${relative(ROOT, jsonFile)}\n`);
  if (!quick && values.rows === undefined && folder === undefined) writePages(report);
  if (profileFolder !== undefined) process.stdout.write(summariseProfiles(profileFolder));
});

function chosen(names: string | undefined, quick: boolean): readonly Row[] {
  if (names === undefined) return quick ? ROWS.filter(({ isQuick }) => isQuick) : ROWS;
  const wanted = names.split(',');
  const unknown = wanted.find((name) => !ROWS.some((row) => row.name === name));
  if (unknown !== undefined) throw new UsageError(`There is no row "${unknown}".`);
  return ROWS.filter(({ name }) => wanted.includes(name));
}

type RowOutcome = Outcome & { row: string };

function collected(outcomes: readonly RowOutcome[]): Figures {
  return {
    figures: outcomes.flatMap(({ figures }) => figures),
    loads: Object.fromEntries(
      outcomes.flatMap(({ row, rounds }): [string, Rounds][] =>
        rounds === undefined ? [] : [[row, rounds]],
      ),
    ),
  };
}

function toReport({ figures, loads }: Figures): string {
  const parts = [toText(figureRows(figures)), ...notes(figures).map((note) => `${note}\n`), '\n'];
  if (Object.keys(loads).length > 0) parts.push(toText(loadRows(loads)), '\n');
  return parts.join('');
}

type Run = Omit<Parameters<typeof openBench>[0], 'say'> & {
  tell: Narrator;
  keep(outcomes: readonly RowOutcome[]): void;
};

/** A row that fails says so among the figures; the others go on. `keep` is given what is measured after each row. */
async function run(rows: readonly Row[], { tell, keep, ...options }: Run): Promise<RowOutcome[]> {
  const bench = await openBench({ ...options, say: tell.say });
  const interrupt = () => void bench.close().finally(() => process.exit(130));
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  const outcomes: RowOutcome[] = [];
  const attempt = async (row: Row, measure: () => Promise<Outcome>) => {
    tell.line(row.title);
    const outcome = await measure().catch((error: unknown) => failed(row, error));
    const measured = { ...outcome, row: row.name };
    outcomes.push(measured);
    keep(outcomes);
    process.stdout.write(`\n${toReport(collected([measured]))}`);
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
