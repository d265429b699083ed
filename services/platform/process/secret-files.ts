// Secrets as files: NAME_FILE names a file that contains the value of NAME, as Docker and Kubernetes mount secrets.
import { closeSync, openSync, readSync } from 'node:fs';
import { errorCode } from '../thrown.ts';

const MAX_BYTES = 64 * 1024;

/** Each can be given as NAME or as NAME_FILE, not as both. */
export const SECRETS = [
  'DATABASE_URL',
  'DATABASE_SESSION_URL',
  'SERVICE_DATABASE_URL',
  'REDIS_URL',
  'KEY_PEPPER',
  'SERVICE_TOKEN',
  'GATEWAY_TOKENS',
  'SMTP_URL',
  'VAPID_KEYS',
] as const;

/**
 * The environment with every secret as NAME alone. A byte order mark at the beginning of a file and a line break at its end are no
 * part of the value. `problems` has a line for each variable at fault, without a value.
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
      const text = readBeginning(path);
      if (text === undefined) problems.push(`${name}_FILE names a file of more than 64 KiB: ${path}`);
      else read[name] = text.replace(/^\uFEFF|\r?\n$/g, '');
    } catch (error) {
      const code = errorCode(error);
      problems.push(`${name}_FILE names a file that cannot be read${code && ` (${code})`}: ${path}`);
    }
  }
  const environment = Object.keys(read).length === 0 ? given : { ...given, ...read };
  return { environment, problems };
}

/** @returns undefined if the file has more than MAX_BYTES; a pipe or device may never end. */
function readBeginning(path: string): string | undefined {
  const bytes = Buffer.alloc(MAX_BYTES + 1);
  const file = openSync(path, 'r');
  try {
    let length = 0;
    for (let read = 1; read > 0 && length <= MAX_BYTES; length += read)
      read = readSync(file, bytes, length, bytes.length - length, null);
    return length > MAX_BYTES ? undefined : bytes.toString('utf8', 0, length);
  } finally {
    closeSync(file);
  }
}
