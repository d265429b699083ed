// Has a program of its own try the mutants of a room of SQL.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MutantResult } from '../report.ts';
import type { SqlRoom } from '../rooms.ts';
import type { RunChild } from '../workplace.ts';
import type { SqlProgramConfig } from './program.ts';

/** @throws Error where the program ends without a report, with what it said. */
export async function runSqlRoom(
  room: SqlRoom,
  options: {
    root: string;
    files: readonly string[];
    folder: string;
    statementsFile: string;
    postgresUrl: string;
    lanes: number;
    runChild: RunChild;
  },
): Promise<MutantResult[]> {
  const { runChild, ...run } = options;
  mkdirSync(run.folder, { recursive: true });
  const configFile = join(run.folder, 'sql.json');
  const reportFile = join(run.folder, 'report.jsonl');
  const config: SqlProgramConfig = { ...run, sources: room.sources, share: room.holds, reportFile };
  writeFileSync(configFile, JSON.stringify(config));
  const { code, output } = await runChild(['test/mutants/sql/program.ts', configFile], {
    MUTANTS_TESTS: JSON.stringify(room.tests),
  });
  if (code !== 0) throw new Error(`${room.name} ended with ${code}:\n${output.slice(-4000)}`);
  const lines = readFileSync(reportFile, 'utf8').trim().split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as MutantResult);
}
