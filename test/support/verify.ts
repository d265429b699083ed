// npm run verify, without npm's own start.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type Environment, root } from './processes.ts';
import { argumentsOf } from './services.ts';

/** With more in its environment. */
export const verifyIn =
  (environment: Environment) =>
  (databaseUrl: string, ...args: string[]) =>
    promisify(execFile)(process.execPath, [...argumentsOf('verify'), ...args], {
      cwd: root,
      env: { PATH: process.env.PATH, HOME: process.env.HOME, DATABASE_URL: databaseUrl, ...environment },
    }).then(
      ({ stdout }) => ({ code: 0, stdout, stderr: '' }),
      ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
    );

/** What it says of a database, and its exit code. */
export const runVerify = verifyIn({});
