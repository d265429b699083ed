// What npm run verify says of a database.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { root } from '../../support/processes.ts';

/** @throws Error where anything has drifted. */
export async function verify(databaseUrl: string): Promise<string> {
  const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'verify'], {
    cwd: root,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, DATABASE_URL: databaseUrl },
  });
  return stdout;
}
