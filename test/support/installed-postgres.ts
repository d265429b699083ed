// A PostgreSQL whose programs the machine already has, so that the tests can run on another version than the embedded one.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { accountForPostgres, giveTo } from '../../services/embedded-postgres/machine.ts';
import { freePort } from '../../services/platform/process/ports.ts';
import { startProcess } from './processes.ts';

const SETTINGS = [
  'max_connections=400',
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'timezone=UTC',
  'fsync=off',
  'synchronous_commit=off',
  'full_page_writes=off',
];

/** `bin` holds initdb and postgres; `directory` does not exist yet. Run by another account where this one is root. */
export async function startInstalledPostgres({ bin, directory }: { bin: string; directory: string }) {
  const account = accountForPostgres(undefined);
  const [data, passwordFile] = [join(directory, 'data'), join(directory, 'password')];
  const password = randomBytes(24).toString('hex');
  mkdirSync(directory);
  writeFileSync(passwordFile, password);
  for (const path of [directory, passwordFile]) giveTo(account, path);
  const made = [
    `--pgdata=${data}`,
    '--username=postgres',
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
  ];
  await promisify(execFile)(
    join(bin, 'initdb'),
    [...made, '--encoding=UTF8', '--locale=C.UTF-8', '--lc-messages=C', '--no-sync', '--no-instructions'],
    { ...account, cwd: '/' },
  );
  const port = await freePort();
  const settings = [...SETTINGS, `port=${port}`].flatMap((setting) => ['-c', setting]);
  const server = startProcess(join(bin, 'postgres'), ['-D', data, ...settings], { ...account, cwd: '/' });
  await server.says((log) => log.includes('ready to accept connections') || undefined);
  return {
    databaseUrl: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
    log: server.output,
    /** Ends its connections too. */
    stop: () => server.end('SIGINT'),
  };
}
