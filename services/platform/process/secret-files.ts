// Secrets as files: NAME_FILE names a file that contains the value of NAME, as Docker and Kubernetes mount secrets.
import { readFileSync } from 'node:fs';

/** Each can be given as NAME or as NAME_FILE, not as both. */
export const SECRETS = [
  'DATABASE_URL',
  'DATABASE_SESSION_URL',
  'SERVICE_DATABASE_URL',
  'TARGET_DATABASE_URL',
  'REDIS_URL',
  'KEY_PEPPER',
  'SERVICE_TOKEN',
  'GATEWAY_TOKENS',
  'SMTP_URL',
  'VAPID_KEYS',
] as const;

/**
 * The environment with every secret as NAME alone; one line break at the end of a file is not part of the value. `problems` has a line
 * for each variable at fault, without a value.
 */
export function readSecretFiles(given: Readonly<Record<string, string | undefined>>) {
  const read: Record<string, string | undefined> = {};
  const problems: string[] = [];
  for (const name of SECRETS) {
    const path = given[`${name}_FILE`];
    if (!path) continue;
    read[`${name}_FILE`] = undefined;
    if (given[name]) {
      problems.push(`${name} and ${name}_FILE are both set: remove one of them`);
      continue;
    }
    try {
      read[name] = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
      problems.push(`${name}_FILE names a file that cannot be read${code}: ${path}`);
    }
  }
  const environment = Object.keys(read).length === 0 ? given : { ...given, ...read };
  return { environment, problems };
}
