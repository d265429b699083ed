// The database of npm start.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../embedded-postgres/embedded-postgres.ts';
import type { Logger } from '../../platform/logging/logger.ts';
import type { Narrator } from '../../platform/process/narrator.ts';
import { clusterFolder } from '../program-database.ts';
import type { StartSettings } from './settings.ts';

type StartDatabase = Pick<EmbeddedPostgres, 'databaseUrl' | 'stop'> &
  Partial<Pick<EmbeddedPostgres, 'exited'>>;

/** DATABASE_URL, else the embedded server. */
export async function openDatabase(
  { databaseUrl, dataDir }: StartSettings,
  logger: Logger,
  narrator: Narrator,
): Promise<StartDatabase> {
  if (databaseUrl !== undefined) return { databaseUrl, stop: async () => {} };
  const directory = clusterFolder(dataDir);
  narrator.say(existsSync(join(directory, 'data')) ? 'starting PostgreSQL' : 'creating the database');
  return startEmbeddedPostgres({
    directory,
    notice(text) {
      narrator.end();
      process.stdout.write(`${text}\n`);
    },
    onRestart: (text) => logger.error(text),
  });
}
