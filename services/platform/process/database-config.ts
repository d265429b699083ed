// The environment variables that say where the database is.
import type { EnvironmentReader } from './config.ts';

const FORM = 'as postgres://user:password@host:5432/name';

/** Where a database is; the second if the first does not lead to sessions of PostgreSQL. */
export type DatabasePlace = {
  /** Of the first host of DATABASE_URL. */
  databaseUrl: string;
  databaseSessionUrl?: string | undefined;
  /** Of the other hosts. */
  otherHostUrls?: readonly string[] | undefined;
};

/** `keeps` says what a service keeps in the database. */
export function readDatabasePlace(reader: EnvironmentReader, keeps: string): DatabasePlace {
  const [databaseUrl = '', ...otherHostUrls] = readDatabaseUrls(reader, `the PostgreSQL to keep ${keeps} in`);
  return { databaseUrl, databaseSessionUrl: readUrls(reader, 'DATABASE_SESSION_URL')[0], otherHostUrls };
}

/** DATABASE_SESSION_URL, else the first host of DATABASE_URL: for programs that need a session of PostgreSQL. */
export const readSessionUrl = (reader: EnvironmentReader, purpose: string): string =>
  readUrls(reader, 'DATABASE_SESSION_URL')[0] ?? readDatabaseUrls(reader, purpose)[0] ?? '';

/** The first host of TARGET_DATABASE_URL. */
export function readTargetUrl(reader: EnvironmentReader): string {
  reader.required('TARGET_DATABASE_URL', `the PostgreSQL to copy to, ${FORM}`);
  return readUrls(reader, 'TARGET_DATABASE_URL')[0] ?? '';
}

/** A URL for each host of DATABASE_URL. `purpose` says what it is for. */
function readDatabaseUrls(reader: EnvironmentReader, purpose: string): string[] {
  reader.required('DATABASE_URL', `${purpose}, ${FORM}`);
  return readUrls(reader, 'DATABASE_URL');
}

/** A URL for each host; pg takes one with a blank before it for a name. It may contain a password, so a problem does not repeat it. */
function readUrls(reader: EnvironmentReader, name: string): string[] {
  const text = reader.text(name)?.trim();
  if (text === undefined) return [];
  const urls = urlsOfHosts(text);
  const isUrl = (url: string) => /^(postgres|postgresql|socket):$/.test(URL.parse(url)?.protocol ?? '');
  if (!urls.every(isUrl) && !text.startsWith('/'))
    reader.problem(
      `${name} must be a URL such as postgres://user:password@host:5432/name, special characters in the password percent-encoded`,
    );
  return urls;
}

/** libpq's form of several hosts, postgres://user@one:5432,two:5432/name, as one URL each, which pg needs. */
export function urlsOfHosts(url: string): string[] {
  const [, start, hosts, end] = /^(postgres(?:ql)?:\/\/(?:[^@/?]*@)?)([^/?]+)(.*)$/s.exec(url) ?? [];
  return hosts === undefined ? [url] : hosts.split(',').map((host) => `${start}${host}${end}`);
}
