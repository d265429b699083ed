// Runs the tests against each mutant of the SQL: file by file, only those that send the statement, until one fails.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { createVitest, type Vitest } from 'vitest/node';
import type { MutantResult } from '../report.ts';
import { mutantsOf, type Sent } from './mutants.ts';
import { refusedBy } from './refused.ts';
import { type SqlShare, shareOf } from './shares.ts';
import { readSources } from './sources.ts';

export type SqlRun = {
  root: string;
  /** Where it may write. */
  folder: string;
  /** Where it notes what the tests send. */
  statementsFile: string;
  postgresUrl: string;
  /** Globs of the files that the statements are in. */
  sources: readonly string[];
  /** Those of them whose mutants are tried. */
  files: readonly string[];
  share: SqlShare;
  /** How many mutants are tried at once. */
  lanes: number;
  told(result: MutantResult, done: number, total: number): void;
};

const CONFIG = 'test/mutants/vitest.config.ts';

type TimedSent = Sent & { durationMs: number };

/**
 * What the tests send, and how long each file takes; noted in `statementsFile` for the next room with the same tests.
 * @throws Error where a file fails twice without a mutant.
 */
export async function recordStatements({ root, lanes, statementsFile }: SqlRun): Promise<TimedSent[]> {
  if (existsSync(statementsFile)) return JSON.parse(readFileSync(statementsFile, 'utf8')) as TimedSent[];
  const noted = `${statementsFile}.lines`;
  const vitest = await openVitest(root, { SQL_STATEMENTS: noted }, { maxWorkers: lanes, bail: 0 });
  try {
    const specifications = await vitest.globTestSpecifications();
    const first = await vitest.runTestSpecifications(specifications);
    const failed = first.testModules.filter((module) => !module.ok()).map(({ moduleId }) => moduleId);
    // On a machine that is busy a file may fail once.
    for (const file of failed) {
      if (!(await passes(vitest, file))) throw new Error(`${relative(root, file)} fails without any mutant.`);
    }
    const durations = new Map(
      first.testModules.map((module) => [module.moduleId, module.diagnostic().duration]),
    );
    const sent = readFileSync(noted, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Sent)
      .map((record) => ({ ...record, durationMs: durations.get(record.file) ?? 0 }));
    writeFileSync(statementsFile, JSON.stringify(sent));
    return sent;
  } finally {
    await vitest.close();
  }
}

export async function runSql(run: SqlRun, sent: readonly TimedSent[]): Promise<MutantResult[]> {
  const all = mutantsOf(sent, readSources(run.root, run.sources));
  const mutants = all.filter((mutant) => shareOf(mutant) === run.share && run.files.includes(mutant.file));
  const refused = await refusedBy(run.postgresUrl, run.root, mutants);
  const durations = new Map(sent.map(({ file, durationMs }) => [file, durationMs]));
  const kills = new Map<string, number>();
  const results: MutantResult[] = [];
  const left = mutants.values();
  const lane = async (number: number) => {
    const mutantFile = join(run.folder, `lane-${number}`, 'mutant.json');
    mkdirSync(join(run.folder, `lane-${number}`));
    writeFileSync(mutantFile, '{}');
    // A file's first failure is enough: each of its others may wait until its time is up.
    const vitest = await openVitest(run.root, { SQL_MUTANT: mutantFile }, { maxWorkers: 1, bail: 1 });
    try {
      for (const mutant of left) {
        writeFileSync(mutantFile, JSON.stringify(mutant.replacements));
        // First those that noticed mutants of the same file of source, then the fastest.
        const killsOf = (file: string) => kills.get(`${mutant.file} ${file}`) ?? 0;
        const files = mutant.testFiles.toSorted(
          (a, b) =>
            Math.sign(killsOf(b)) - Math.sign(killsOf(a)) ||
            (durations.get(a) ?? 0) - (durations.get(b) ?? 0),
        );
        const killer = refused.has(mutant) ? undefined : await firstToFail(vitest, files);
        if (killer !== undefined) kills.set(`${mutant.file} ${killer}`, killsOf(killer) + 1);
        const { file, line, operator, before, after } = mutant;
        const status = refused.has(mutant) ? 'invalid' : killer === undefined ? 'survived' : 'killed';
        const result: MutantResult = { file, line, operator, before, after, status };
        results.push(result);
        run.told(result, results.length, mutants.length);
      }
    } finally {
      await vitest.close();
    }
  };
  await Promise.all(Array.from({ length: run.lanes }, (_, number) => lane(number)));
  return results;
}

async function firstToFail(vitest: Vitest, files: readonly string[]): Promise<string | undefined> {
  for (const file of files) {
    if (!(await passes(vitest, file))) return file;
  }
  return undefined;
}

async function passes(vitest: Vitest, file: string): Promise<boolean> {
  const specification = vitest.getRootProject().createSpecification(file);
  // Vitest answers with all modules that it has ever run, as they were last.
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications([specification]);
  return (
    unhandledErrors.length === 0 && testModules.some((module) => module.moduleId === file && module.ok())
  );
}

function openVitest(
  root: string,
  env: Record<string, string>,
  { maxWorkers, bail }: { maxWorkers: number; bail: number },
): Promise<Vitest> {
  return createVitest(
    'test',
    {
      root,
      config: join(root, CONFIG),
      watch: false,
      bail,
      maxWorkers,
      env,
      reporters: [{}],
      setupFiles: ['test/mutants/sql/rewrite.ts', 'test/mutants/sql/law.ts'],
    },
    { logLevel: 'silent' },
  );
}
