// npm run migrate: migrates the schemas of all services in DATABASE_URL, and reports the result.
import { accountsSchema } from '../accounts/service.ts';
import { createLogger } from '../platform/logging/logger.ts';
import { migrate } from '../platform/postgres/migrate.ts';
import { counted, runCommand, secondsSince } from '../platform/process/command.ts';
import { readSessionUrl, sessionVariable } from '../platform/process/common-config.ts';
import { readEnvironment } from '../platform/process/config.ts';
import { remindersSchema } from '../reminders/service.ts';
import { distributeScheduling } from '../scheduling/distribute.ts';
import { schedulingSchema } from '../scheduling/service.ts';

const HELP = `Migrates the schemas of accounts, scheduling and reminders in DATABASE_URL. Several migrations at once are safe.

  npm run migrate [-- --distribute]

  --distribute   then distributes the scheduling tables over a Citus cluster by user_id, all of them or none. DATABASE_URL
                 must name the coordinator. Writes wait meanwhile. Tables that are distributed already are left alone.
                 Restart running scheduling services afterwards. See docs/operations/database.md.

Exits with 0 on success, with 1 on failure, and with 2 if --distribute finds no Citus: then the schemas are up to date, and
nothing is distributed.
`;

const options = { distribute: { type: 'boolean' } } as const;

await runCommand({ name: 'npm run migrate', help: HELP, options }, async (values) => {
  const { databaseUrl, variable, logLevel } = readEnvironment(process.env, (reader) => ({
    databaseUrl: readSessionUrl(reader),
    variable: sessionVariable(reader),
    logLevel: reader.oneOf('LOG_LEVEL', 'warn'),
  }));
  const logger = createLogger('migrate', logLevel);
  const beganMs = performance.now();
  let applied = 0;
  const schemas = [accountsSchema, schedulingSchema, remindersSchema];
  for (const schema of schemas) {
    const names = await migrate({ databaseUrl, variable, ...schema, logger });
    applied += names.length;
    process.stdout.write(
      `${schema.schema}: ${names.length === 0 ? 'up to date' : `applied ${names.join(', ')}`}\n`,
    );
  }
  process.stdout.write(
    `Applied ${counted(applied, 'migration')} in ${secondsSince(beganMs)}. The services can start on this database.\n`,
  );
  return values.distribute ? distribute(databaseUrl, variable) : 0;
});

/** @returns the exit code. */
async function distribute(databaseUrl: string, variable: string): Promise<number> {
  const outcome = await distributeScheduling(databaseUrl);
  if (outcome.state === 'no-citus') {
    process.stderr.write(
      `Nothing is distributed: the database of ${variable} lacks the extension citus. ` +
        'On a Citus coordinator, run CREATE EXTENSION citus. Plain PostgreSQL needs no distribution.\n',
    );
    return 2;
  }
  const { tables } = outcome;
  process.stdout.write(
    tables.length === 0
      ? 'scheduling: already distributed\n'
      : `scheduling: distributed ${tables.join(', ')}\n`,
  );
  return 0;
}
