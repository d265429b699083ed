// Where DATABASE_URL leads to.
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { readDatabasePlace, readSessionUrl } from '../../services/platform/process/common-config.ts';
import { type EnvironmentReader, readEnvironment } from '../../services/platform/process/config.ts';

test('one host, a socket and a URL without a host stay as they are', () => {
  for (const url of [
    'postgresql://u:p%40s@one:1/db',
    'postgres:///db?host=/run',
    'postgres://u:p@/db?host=/cloudsql/project:region:name',
    'postgres://u:p@[::1]:1/db?application_name=a@b',
    'socket:/run?db=db',
    'socket:/home/me@work?db=db',
    '/run db',
  ])
    expect(place(url)).toEqual({ databaseUrl: url, databaseSessionUrl: undefined });
});

test.each([
  'postgres://u:secret@one,two/db',
  'postgres://u:secret@one:1,two:2/db',
  'postgres://u:secret@two:x/db',
])('several hosts, or one that is none, are named as a fault, without the password', (url) => {
  expect(() => place(url)).toThrow(/^(?![\s\S]*secret)[\s\S]*DATABASE_URL must be a URL of one host/);
});

test('a password with a % that cannot be decoded is named as a fault, and not repeated', () => {
  expect(() => place('postgres://u:secret%c3@one/db')).toThrow(
    /^(?![\s\S]*secret)[\s\S]*DATABASE_URL must be a URL of one host, .* special characters in the password percent-encoded/,
  );
  for (const url of ['postgres://u:caf%C3%A9@one/db', 'postgres://u:50%off@one/db'])
    expect(place(url)).toMatchObject({ databaseUrl: url });
});

test.each([
  'postgres://u:/secret@one/db',
  'postgres://u:12/secret@one/db',
  'postgres://u:12#secret@one/db',
  'postgres://u:12?secret@one/db',
])('a password that ends the host is named as a fault, and not repeated', (url) => {
  expect(() => place(url)).toThrow(
    /^(?![\s\S]*secret)[\s\S]*DATABASE_URL must be a URL of one host, .* special characters in the password percent-encoded/,
  );
  expect(place(url.replace(/[/#?](?=secret)/, encodeURIComponent))).toBeDefined();
});

test.each(['sslrootcert', 'sslcert', 'sslkey'])(
  'a %s that is no readable file is named as a fault, without the password',
  (parameter) => {
    const url = (path: string) => `postgres://u:secret@one/db?sslmode=verify-full&${parameter}=${path}`;
    for (const path of ['/nowhere/ca.pem', tmpdir()])
      expect(() => place(url(path))).toThrow(
        `The configuration is not usable:\n  - DATABASE_URL names a file that cannot be read, in ${parameter}: ${path}`,
      );
    expect(place(url(import.meta.filename))).toMatchObject({ databaseUrl: url(import.meta.filename) });
  },
);

test('blanks around a URL, as at the end of a file, are no part of it', () => {
  const environment = {
    DATABASE_URL: ' postgres://u:secret@one/db\n',
    DATABASE_SESSION_URL: ' postgres://u@two/db\n',
  };
  const read = <T>(how: (reader: EnvironmentReader) => T) => readEnvironment(environment, how);
  expect(read((reader) => readDatabasePlace(reader))).toMatchObject({
    databaseUrl: 'postgres://u:secret@one/db',
    databaseSessionUrl: 'postgres://u@two/db',
  });
  expect(read((reader) => readSessionUrl(reader))).toBe('postgres://u@two/db');
});

test.each(['secret@one/db', 'https://u:secret@one/db', 'postgres://u:secret#@one/db'])(
  'a DATABASE_SESSION_URL that is none is named as a fault, without the password',
  (url) => {
    for (const read of [readDatabasePlace, readSessionUrl])
      expect(() =>
        readEnvironment({ DATABASE_URL: 'postgres://one/db', DATABASE_SESSION_URL: url }, (reader) =>
          read(reader),
        ),
      ).toThrow(/^(?![\s\S]*secret)[\s\S]*DATABASE_SESSION_URL must be a URL/);
  },
);

const place = (DATABASE_URL: string) =>
  readEnvironment({ DATABASE_URL }, (reader) => readDatabasePlace(reader));
