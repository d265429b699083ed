// Tries the mutants of SQL, as a program of its own: node program.ts CONFIG.json. Says "DONE/TOTAL tested" as it goes.
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { recordStatements, runSql, type SqlRun } from './run.ts';

export type SqlProgramConfig = Omit<SqlRun, 'told'> & { reportFile: string };

const config = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as SqlProgramConfig;
const run: SqlRun = {
  ...config,
  told(result, done, total) {
    appendFileSync(config.reportFile, `${JSON.stringify(result)}\n`);
    process.stdout.write(`${done}/${total} tested\n`);
  },
};
try {
  writeFileSync(config.reportFile, '');
  await runSql(run, await recordStatements(run));
  // Vitest has set the exit code to that of a failed test, and may hold open what has no work left.
  process.exit(0);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
