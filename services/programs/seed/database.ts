// Where npm run seed writes: DATABASE_URL, or the embedded server of DATA_DIR, started if it is not running.
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../embedded-postgres/embedded-postgres.ts';

export type SeedDatabase = { databaseUrl: string; close(): Promise<void> };

/** @throws Error if the embedded server neither runs nor starts. */
export async function openEmbedded(dataDir: string): Promise<SeedDatabase> {
  const directory = join(dataDir, 'postgres');
  try {
    const { databaseUrl, stop } = await startEmbeddedPostgres({ directory });
    return { databaseUrl, close: stop };
  } catch (error) {
    const running = runningUrl(directory);
    if (running === undefined) throw error;
    return { databaseUrl: running, close: async () => {} };
  }
}

/** The URL of the server that npm start runs there, from its files. */
export function runningUrl(directory: string): string | undefined {
  if (!existsSync(directory)) return undefined;
  const folder = realpathSync(directory);
  const pidFile = join(folder, 'data/postmaster.pid');
  if (!existsSync(pidFile)) return undefined;
  const port = readFileSync(pidFile, 'utf8').split('\n')[3];
  const password = readFileSync(join(folder, 'password'), 'utf8').trim();
  return `postgres://postgres:${password}@127.0.0.1:${port}/spaced_repetition`;
}
