// What a service with tables adds to its readiness: its database answers, and its schema is up to date.
import { pendingMigrations } from '../pending-migrations.ts';
import type { Database } from '../postgres.ts';
import type { Readiness } from './readiness.ts';

/** A newer schema than the code knows is fine: that is how an upgrade looks to the old process. */
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
