// One PostgreSQL for the whole test run, in a folder of its own that is removed at the end.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../../services/embedded-postgres/embedded-postgres.ts';
import { startInstalledPostgres } from './installed-postgres.ts';
import { createMigratedTemplate } from './migrated-template.ts';
import { makePostgresFolder } from './postgres-folder.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Of an account that may make databases. */
    postgresUrl: string;
    /** How long tests wait for what has to come: so long that only a hang takes longer. */
    patienceMs: number;
  }
}

/** The services that a process of the tests keeps for all its files have pools of their own. */
const MAX_CONNECTIONS = 400;

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { directory, remove } = makePostgresFolder('srs-test-');
  try {
    const postgres = await start(directory);
    await createMigratedTemplate(postgres.databaseUrl);
    project.provide('postgresUrl', postgres.databaseUrl);
    project.provide('patienceMs', 60_000);
    return async () => {
      await postgres.stop();
      const log = postgres.log();
      remove();
      // Every test of the run worked on this server: what a statement or an error of any of them told is in its log.
      if (/rmk_live_[0-9A-Za-z]{49}/.test(log)) throw new Error('an API key is in the log of PostgreSQL');
    };
  } catch (error) {
    remove();
    throw error;
  }
}

/** TEST_POSTGRES_BIN names the folder of the programs to test on, instead of the embedded ones. */
async function start(directory: string) {
  const bin = process.env.TEST_POSTGRES_BIN;
  if (bin) return startInstalledPostgres({ bin, directory });
  const { databaseUrl, stop } = await startEmbeddedPostgres({
    directory,
    durable: false,
    maxConnections: MAX_CONNECTIONS,
  });
  return { databaseUrl, stop, log: () => readFileSync(join(directory, 'postgres.log'), 'utf8') };
}
