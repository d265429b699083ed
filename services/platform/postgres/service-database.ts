// The database of a service: its pool, with its schema migrated.
import type { Logger } from '../logging/logger.ts';
import type { Telemetry } from '../observability/telemetry.ts';
import { type Database, openDatabase } from './database.ts';
import { addDatabaseChecks } from './database-checks.ts';
import { migrate } from './migrate.ts';
import { requireUsableDatabase } from './usable-database.ts';

/** Opens the pool and adds its readiness checks. @throws Error if the database is unsuitable; then nothing is left open. */
export async function openServiceDatabase(options: {
  databaseUrl: string;
  schema: { schema: string; directory: string };
  logger: Logger;
  telemetry: Telemetry;
}): Promise<Database> {
  const { databaseUrl, schema, logger, telemetry } = options;
  const applicationName = schema.schema;
  const database = openDatabase({ databaseUrl, applicationName, maxConnections: 16, logger, telemetry });
  try {
    await requireUsableDatabase(database);
    await migrate({ databaseUrl, ...schema, logger });
  } catch (error) {
    await database.close();
    throw error;
  }
  addDatabaseChecks(telemetry.readiness, database, schema);
  return database;
}
