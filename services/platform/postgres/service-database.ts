// The database of a service: its pool, with its schema migrated.
import type { Logger } from '../logging/logger.ts';
import type { Readiness } from '../observability/readiness.ts';
import type { Telemetry } from '../observability/telemetry.ts';
import type { DatabasePlace } from '../process/common-config.ts';
import { type Database, openDatabase } from './database.ts';
import { migrate } from './migrate.ts';
import { pendingMigrations, type Schema } from './pending-migrations.ts';
import { requireReachable } from './reachable.ts';
import { requireUsableDatabase } from './usable-database.ts';

/** A new replica gets its full share of requests at once, and a busy PostgreSQL takes half a second to open a connection. */
const OPENED_AHEAD = 4;

/**
 * Opens the pool and adds its readiness checks. `prepares`: whether plans are kept, where the sessions are PostgreSQL's own; default
 * true. `stopping` ends the wait for other processes that migrate. @throws its reason, or Error if the database is unsuitable; then
 * nothing is left open.
 */
export async function openServiceDatabase(options: {
  place: DatabasePlace;
  schema: Schema;
  logger: Logger;
  telemetry: Telemetry;
  prepares?: boolean;
  stopping?: AbortSignal | undefined;
}): Promise<Database> {
  const { place, schema, logger, telemetry, prepares = true, stopping } = options;
  const database = openDatabase({
    databaseUrl: place.databaseUrl,
    prepares: prepares && place.databaseSessionUrl === undefined,
    applicationName: schema.schema,
    maxConnections: 16,
    logger,
    telemetry,
  });
  try {
    await requireReachable(database, place.databaseUrl);
    await requireUsableDatabase(database);
    await migrate({ databaseUrl: sessionUrl(place), ...schema, logger, stopping });
    await openAhead(database);
  } catch (error) {
    await database.close();
    throw error;
  }
  addDatabaseChecks(telemetry.readiness, database, schema);
  return database;
}

/** Statements at the same time, so that each needs a connection of its own. One that fails is opened when it is needed. */
async function openAhead(database: Database): Promise<void> {
  const statements = Array.from({ length: OPENED_AHEAD }, () =>
    database.query({ text: 'SELECT 1', values: [] }),
  );
  await Promise.allSettled(statements);
}

/** A schema newer than the code passes: the old process sees one during an upgrade. */
function addDatabaseChecks(readiness: Pick<Readiness, 'add'>, database: Database, schema: Schema): void {
  readiness.add({
    name: `${schema.schema}/database`,
    async find() {
      await database.query({ text: 'SELECT 1', values: [] });
      const refusal = database.refusal();
      if (refusal === undefined) return { state: 'ok' };
      return { state: 'degraded', reason: `new connections are refused (${refusal})` };
    },
  });
  readiness.add({
    name: `${schema.schema}/migrations`,
    async find() {
      const pending = await pendingMigrations(database, schema);
      if (pending.length === 0) return { state: 'ok' };
      return { state: 'failed', reason: `not applied: ${pending.join(', ')}` };
    },
  });
}

/** For what needs a session of PostgreSQL: LISTEN, and the lock of migrations. */
export const sessionUrl = ({ databaseUrl, databaseSessionUrl = databaseUrl }: DatabasePlace) =>
  databaseSessionUrl;
