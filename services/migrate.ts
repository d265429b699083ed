// npm run migrate: brings the schemas of all services in DATABASE_URL up to date, and says what it did.
import { accountsSchema } from './accounts/service.ts';
import { LOG_LEVELS } from './platform/common-config.ts';
import { readEnvironment } from './platform/config.ts';
import { createLogger } from './platform/logger.ts';
import { migrate } from './platform/migrate.ts';
import { schedulingSchema } from './scheduling/service.ts';

try {
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
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
