// The database that migrated databases of tests are copied from.
import { accountsSchema } from '../../services/accounts/service.ts';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { withConnection } from '../../services/platform/postgres/connection.ts';
import { migrate } from '../../services/platform/postgres/migrate.ts';
import { remindersSchema } from '../../services/reminders/service.ts';
import { schedulingSchema } from '../../services/scheduling/service.ts';

export const MIGRATED_TEMPLATE = 'migrated_template';

/** Creates it on a server that has none: with the schemas of all services and no rows. */
export async function createMigratedTemplate(server: string): Promise<void> {
  await withConnection({ connectionString: server }, (client) =>
    client.query(`CREATE DATABASE ${MIGRATED_TEMPLATE}`),
  );
  const databaseUrl = new URL(server);
  databaseUrl.pathname = `/${MIGRATED_TEMPLATE}`;
  for (const schema of [accountsSchema, schedulingSchema, remindersSchema])
    await migrate({ databaseUrl: databaseUrl.href, ...schema, logger: createLogger('test', 'silent') });
}
