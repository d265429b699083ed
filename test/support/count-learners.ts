// Counts all learners at once, as the scheduling service does in turns.
import { vi } from 'vitest';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { COUNT_LOCK } from '../../services/platform/postgres/connection.ts';
import { type Database, openDatabase } from '../../services/platform/postgres/database.ts';
import { countLearners } from '../../services/scheduling/count-learners.ts';
import { openPool } from './database.ts';

export async function countLearnersNow(databaseUrl: string): Promise<void> {
  const database = openPool(databaseUrl);
  await countLearners(database, new Date());
  await database.close();
}

/** For counts of a test alone: its session holds their lock, so that the service makes none, whatever its clock says. */
export async function openForOwnCounts(databaseUrl: string): Promise<Database> {
  const database = await openForCounts(databaseUrl);
  await database.query({ text: 'SELECT pg_advisory_lock($1)', values: [COUNT_LOCK] });
  return database;
}

/** With the time-outs of the service, and connected: on a busy machine that can take longer than a request waits. */
export async function openForCounts(databaseUrl: string): Promise<Database> {
  const database = openDatabase({
    databaseUrl,
    applicationName: 'test',
    maxConnections: 1,
    logger: createLogger('test', 'silent'),
  });
  await vi.waitFor(() => database.query({ text: 'SELECT 1', values: [] }), 60_000);
  return database;
}
