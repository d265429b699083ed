// What npm run verify says of a database, but for its last line, which has the time that it took.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { root } from '../../support/processes.ts';

/** @throws Error where anything has drifted. */
export async function verify(databaseUrl: string): Promise<string> {
  const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'verify'], {
    cwd: root,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, DATABASE_URL: databaseUrl },
  }).catch((error: { stdout: string; stderr: string }) => {
    throw new Error(`${error.stdout}${error.stderr}`);
  });
  return stdout.replace(/Verified DATABASE_URL in .*\n$/, '');
}
