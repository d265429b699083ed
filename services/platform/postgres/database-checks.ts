// Readiness checks of a service with tables: the database responds, and all migrations are applied.

import type { Readiness } from '../observability/readiness.ts';
import type { Database } from './database.ts';
import { pendingMigrations } from './pending-migrations.ts';

/** A schema newer than the code passes: the old process sees one during an upgrade. */
export function addDatabaseChecks(
  readiness: Pick<Readiness, 'add'>,
  database: Database,
  schema: { schema: string; directory: string },
): void {
  readiness.add({
    name: `${schema.schema}/database`,
    async find() {
      await database.query({ text: 'SELECT 1', values: [] });
      return { state: 'ok' };
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
