// What npm run verify says of a database, but for its last line, which has the time that it took.
import { runVerify } from '../../support/verify.ts';

/** @throws Error where anything has drifted. */
export async function verify(databaseUrl: string): Promise<string> {
  const { code, stdout, stderr } = await runVerify(databaseUrl);
  if (code !== 0) throw new Error(`${stdout}${stderr}`);
  return stdout.replace(/Verified DATABASE_URL in .*\n$/, '');
}
