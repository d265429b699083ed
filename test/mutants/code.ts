// Runs StrykerJS over the TypeScript of one room.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MutantResult } from './report.ts';
import type { Room } from './rooms.ts';
import type { RunChild } from './workplace.ts';

/** What is read of StrykerJS's report. */
type StrykerReport = { files: Record<string, { source: string; mutants: StrykerMutant[] }> };
type Position = { line: number; column: number };
type StrykerMutant = {
  mutatorName: string;
  replacement?: string;
  status: string;
  location: { start: Position; end: Position };
};

/** A mutant that makes a test wait for ever is noticed; one that no test reaches is not. */
const STATUSES: Record<string, MutantResult['status']> = {
  Killed: 'killed',
  Timeout: 'killed',
  RuntimeError: 'invalid',
  Ignored: 'ignored',
};

/** @throws Error where StrykerJS ends without a report, with what it said. */
export async function runCode(
  room: Room,
  run: { files: readonly string[]; folder: string; lanes: number; runChild: RunChild },
): Promise<MutantResult[]> {
  const { folder, runChild } = run;
  mkdirSync(folder, { recursive: true });
  const configFile = join(folder, 'stryker.json');
  const reportFile = join(folder, 'report.json');
  writeFileSync(configFile, JSON.stringify(configOf(room, { ...run, reportFile })));
  const { code, output } = await runChild(
    ['node_modules/@stryker-mutator/core/bin/stryker.js', 'run', configFile],
    { MUTANTS_TESTS: JSON.stringify(room.tests) },
  );
  try {
    return resultsOf(JSON.parse(readFileSync(reportFile, 'utf8')) as StrykerReport);
  } catch {
    throw new Error(`StrykerJS ended with ${code} over ${room.name}:\n${output.slice(-4000)}`);
  }
}

function configOf(
  room: Room,
  run: { files: readonly string[]; folder: string; lanes: number; reportFile: string },
): object {
  return {
    mutate: run.files,
    testRunner: 'vitest',
    vitest: { configFile: 'test/mutants/vitest.config.ts', related: false },
    coverageAnalysis: 'perTest',
    // There is none: TypeScript 7 has no API for StrykerJS to read it by.
    tsconfigFile: 'none.json',
    mutator: { excludedMutations: room.texts ? [] : ['StringLiteral'] },
    concurrency: run.lanes,
    timeoutMS: 20_000,
    // What each holds: nothing that the tests of a room read.
    ignorePatterns: ['/.*', '!/.env.example', '/coverage', '/docs/**/*.png', '/screenshots'],
    tempDirName: join(run.folder, 'sandboxes'),
    cleanTempDir: 'always',
    reporters: ['json', 'progress-append-only'],
    jsonReporter: { fileName: run.reportFile },
    allowConsoleColors: false,
    logLevel: 'warn',
  };
}

function resultsOf({ files }: StrykerReport): MutantResult[] {
  return Object.entries(files).flatMap(([file, { source, mutants }]) =>
    mutants.map(({ mutatorName, replacement = '', status, location }) => ({
      file,
      line: location.start.line,
      operator: mutatorName,
      before: oneLine(textAt(source, location)),
      after: oneLine(replacement),
      status: STATUSES[status] ?? 'survived',
    })),
  );
}

const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ').trim();

/** Lines and columns count from 1. */
function textAt(source: string, { start, end }: StrykerMutant['location']): string {
  const lines = source.split('\n');
  const offset = ({ line, column }: Position) =>
    lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0) + column - 1;
  return source.slice(offset(start), offset(end));
}
