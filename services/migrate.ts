// npm run migrate: brings the schemas of all services in DATABASE_URL up to date, and says what it did.
import { parseArgs } from 'node:util';
import { accountsSchema } from './accounts/service.ts';
import { LOG_LEVELS } from './platform/common-config.ts';
import { readEnvironment } from './platform/config.ts';
import { createLogger } from './platform/logger.ts';
import { migrate } from './platform/migrate.ts';
import { distributeScheduling } from './scheduling/distribute.ts';
import { schedulingSchema } from './scheduling/service.ts';

const HELP = `Brings the schemas of accounts and scheduling in DATABASE_URL up to date; safe when several start at once.

  npm run migrate [-- --distribute]

  --distribute   then spreads the scheduling tables over a Citus cluster by user_id, all of them or none. DATABASE_URL
                 names its coordinator. Writes wait while it runs; what is distributed already stays as it is. Schedulers
                 that run have to be started again afterwards. See docs/scaling.md.

Exits with 0 when all is done, with 1 where something failed, with 2 where --distribute found no Citus: the schemas are
up to date then, and nothing is distributed.
`;

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function main(): Promise<number> {
  const options = { distribute: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } as const;
  const { values } = parseArgs({ options });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const { databaseUrl, logLevel } = readEnvironment(process.env, (reader) => ({
    databaseUrl: reader.required('DATABASE_URL', 'the PostgreSQL to migrate, as postgres://user@host/name'),
    logLevel: reader.oneOf('LOG_LEVEL', LOG_LEVELS, 'warn'),
  }));
  const logger = createLogger('migrate', logLevel);
  for (const schema of [accountsSchema, schedulingSchema]) {
    const names = await migrate({ databaseUrl, ...schema, logger });
    process.stdout.write(
      `${schema.schema}: ${names.length === 0 ? 'up to date' : `applied ${names.join(', ')}`}\n`,
    );
  }
  return values.distribute ? distribute(databaseUrl) : 0;
}

/** @returns the exit code. */
async function distribute(databaseUrl: string): Promise<number> {
  const outcome = await distributeScheduling(databaseUrl);
  if (outcome.state === 'no-citus') {
    process.stderr.write(
      'Nothing is distributed: the extension citus is not present in the database of DATABASE_URL. ' +
        'On a Citus coordinator, CREATE EXTENSION citus makes it so; plain PostgreSQL needs no distribution.\n',
    );
    return 2;
  }
  const { tables } = outcome;
  process.stdout.write(
    tables.length === 0
      ? 'scheduling: distributed already\n'
      : `scheduling: distributed ${tables.join(', ')}\n`,
  );
  return 0;
}
