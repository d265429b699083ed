// npm run verify, without npm's own start.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { root } from './processes.ts';
import { argumentsOf } from './services.ts';

/** What it says of a database, and its exit code. */
export const runVerify = (databaseUrl: string, ...args: string[]) =>
  promisify(execFile)(process.execPath, [...argumentsOf('verify'), ...args], {
    cwd: root,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, DATABASE_URL: databaseUrl },
  }).then(
    ({ stdout }) => ({ code: 0, stdout, stderr: '' }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
