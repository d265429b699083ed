// The environment variables that say where the database is.
import type { EnvironmentReader } from './config.ts';

const FORM = 'as postgres://user:password@host:5432/name';

/** Where a database is; the second if the first does not lead to sessions of PostgreSQL. */
export type DatabasePlace = {
  databaseUrl: string;
  databaseSessionUrl?: string | undefined;
};

/** `keeps` says what a service keeps in the database. */
export function readDatabasePlace(reader: EnvironmentReader, keeps: string): DatabasePlace {
  const databaseUrl = readDatabaseUrl(reader, `the PostgreSQL to keep ${keeps} in`);
  return { databaseUrl, databaseSessionUrl: readUrl(reader, 'DATABASE_SESSION_URL') };
}

/** DATABASE_SESSION_URL, else DATABASE_URL: for programs that need a session of PostgreSQL. */
export const readSessionUrl = (reader: EnvironmentReader, purpose: string): string =>
  readUrl(reader, 'DATABASE_SESSION_URL') ?? readDatabaseUrl(reader, purpose);

/** `purpose` says what it is for. */
function readDatabaseUrl(reader: EnvironmentReader, purpose: string): string {
  reader.required('DATABASE_URL', `${purpose}, ${FORM}`);
  return readUrl(reader, 'DATABASE_URL') ?? '';
}

/** pg takes a URL with a blank before it for a name. It may contain a password, so a problem does not repeat it. */
function readUrl(reader: EnvironmentReader, name: string): string | undefined {
  const url = reader.text(name)?.trim();
  if (url === undefined || url.startsWith('/')) return url;
  const { protocol, host } = URL.parse(url) ?? { protocol: '', host: '' };
  // libpq takes several hosts, pg does not.
  if (!/^(postgres|postgresql|socket):$/.test(protocol) || host.includes(','))
    reader.problem(
      `${name} must be a URL of one host, such as postgres://user:password@host:5432/name, special characters in the password percent-encoded`,
    );
  return url;
}
