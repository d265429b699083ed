// The accounts service's environment.
import { readDatabaseServiceConfig } from '../platform/process/common-config.ts';
import type { EnvironmentReader } from '../platform/process/config.ts';
import type { Pepper } from './keys/rules.ts';

export type AccountsConfig = ReturnType<typeof readAccountsConfig>;

export function readAccountsConfig(reader: EnvironmentReader) {
  return {
    ...readDatabaseServiceConfig(reader, 'ACCOUNTS'),
    /** Newest first; not empty if the environment is valid. */
    peppers: readPeppers(reader),
    keysPerHour: reader.wholeNumber('KEY_CREATION_LIMIT_PER_HOUR'),
  };
}

/** Parses KEY_PEPPER; newest first. */
function readPeppers(reader: EnvironmentReader): readonly Pepper[] {
  const text = reader.required('KEY_PEPPER');
  if (text === '') return [];
  const peppers = text.split(',').map((entry) => {
    const [version = '', ...rest] = entry.split(':');
    return { version, secret: rest.join(':') };
  });
  if (peppers.some(({ version, secret }) => !/^[A-Za-z0-9._-]{1,32}$/.test(version) || secret.length < 32)) {
    reader.problem('KEY_PEPPER must be VERSION:SECRET entries, each secret at least 32 characters long');
  }
  // Otherwise later lines would be part of the secret, and keys hashed with their versions would be unknown.
  if (/[\r\n]\s*[A-Za-z0-9._-]{1,32}:/.test(text))
    reader.problem('KEY_PEPPER must have commas between its entries, not line breaks');
  if (new Set(peppers.map(({ version }) => version)).size < peppers.length) {
    reader.problem('KEY_PEPPER names a version twice');
  }
  return peppers;
}
