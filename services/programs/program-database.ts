// The database of a command: DATABASE_URL, or the embedded server of DATA_DIR, started if it is not running.
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { InUseError } from '../embedded-postgres/cluster.ts';
import { startEmbeddedPostgres } from '../embedded-postgres/embedded-postgres.ts';
import { readSessionUrl, sessionVariable } from '../platform/process/common-config.ts';
import { type Environment, readEnvironment } from '../platform/process/config.ts';
import { createNarrator } from '../platform/process/terminal.ts';
import { exitOnSignals } from './signals.ts';

/** `place` names it without its password. */
type PlacedDatabase = { databaseUrl: string; place: string };
type ProgramDatabase = PlacedDatabase & { close(): Promise<void> };

/** @throws Error if DATABASE_URL is malformed, or the embedded server neither runs nor starts. */
export async function openProgramDatabase(environment: Environment): Promise<ProgramDatabase> {
  const given = givenDatabase(environment);
  if (given !== undefined) return { ...given, close: async () => {} };
  const place = dataDirOf(environment);
  const directory = clusterFolder(place);
  const narrator = createNarrator();
  narrator.say('starting PostgreSQL');
  // The exit also stops a server that was started here, even one that is not ready yet. The listeners stay.
  exitOnSignals();
  try {
    const server = await startEmbeddedPostgres({ directory, notice: narrator.line });
    return { databaseUrl: server.databaseUrl, place, close: server.stop };
  } catch (error) {
    const running = error instanceof InUseError ? runningUrl(directory) : undefined;
    if (running === undefined) throw error;
    return { databaseUrl: running, place, close: async () => {} };
  } finally {
    narrator.end();
  }
}

/** `place` is the variable. undefined: neither DATABASE_URL nor DATABASE_URL_FILE. @throws ConfigError if it is malformed. */
export function givenDatabase(environment: Environment): PlacedDatabase | undefined {
  return readEnvironment(environment, (reader) =>
    reader.isSet('DATABASE_URL')
      ? { databaseUrl: readSessionUrl(reader), place: sessionVariable(reader) }
      : undefined,
  );
}

/** Whether there is a database to read: DATABASE_URL, or the data of an earlier start. */
export function hasDatabase(environment: Environment): boolean {
  return (
    givenDatabase(environment) !== undefined ||
    existsSync(join(clusterFolder(dataDirOf(environment)), 'data'))
  );
}

export const DEFAULT_DATA_DIR = '.data';

export const dataDirOf = (environment: Environment) => environment.DATA_DIR || DEFAULT_DATA_DIR;

/** The folder of the embedded server. */
export const clusterFolder = (dataDir: string) => join(dataDir, 'postgres');

/** The URL of the server that npm start runs there, from its files. */
export function runningUrl(directory: string): string | undefined {
  if (!existsSync(directory)) return undefined;
  const folder = realpathSync(directory);
  const pidFile = join(folder, 'data/postmaster.pid');
  if (!existsSync(pidFile)) return undefined;
  const port = readFileSync(pidFile, 'utf8').split('\n')[3];
  const password = readFileSync(join(folder, 'password'), 'utf8').trim();
  return `postgres://postgres:${password}@127.0.0.1:${port}/spaced_repetition?sslmode=disable`;
}
