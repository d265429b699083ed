// Which mutants PostgreSQL refuses to plan: they are no statements, and say nothing of the tests.
import { join } from 'node:path';
import { Client } from 'pg';
import { createLogger } from '../../../services/platform/logging/logger.ts';
import { migrate } from '../../../services/platform/postgres/migrate.ts';
import type { SqlMutant } from './mutants.ts';

export async function refusedBy(
  postgresUrl: string,
  root: string,
  mutants: readonly SqlMutant[],
): Promise<Set<SqlMutant>> {
  const logger = createLogger('mutants', 'silent');
  for (const schema of ['accounts', 'scheduling']) {
    const directory = join(root, 'services', schema, 'migrations');
    await migrate({ databaseUrl: postgresUrl, schema, directory, logger });
  }
  const client = new Client({ connectionString: postgresUrl });
  await client.connect();
  const refused = new Set<SqlMutant>();
  for (const mutant of mutants) {
    const [text = ''] = Object.values(mutant.replacements);
    // Only a name makes it a statement that is parsed and not run.
    const prepared = await client.query(`PREPARE mutant AS ${text}`).catch(() => undefined);
    if (prepared === undefined) refused.add(mutant);
    else await client.query('DEALLOCATE mutant');
  }
  await client.end();
  return refused;
}
