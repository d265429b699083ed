// Checks before anything is recorded or written that one database can be copied to the other.
import type { Client } from 'pg';
import { accountsSchema } from '../../accounts/service.ts';
import { COPY_LOCK } from '../../platform/advisory-locks.ts';
import { queryableOf } from '../../platform/postgres/connection.ts';
import { pendingMigrations } from '../../platform/postgres/pending-migrations.ts';
import { remindersSchema } from '../../reminders/core.ts';
import { schedulingSchema } from '../../scheduling/service.ts';
import { isRecording } from './changes.ts';

/** @returns the schemas to copy. @throws Error that names the variable and the remedy. */
export async function requireCopyable(source: Client, target: Client): Promise<string[]> {
  if (!(await takeLock(source)))
    throw new Error('Another npm run copy reads DATABASE_URL. Wait until it has ended.');
  if (!(await takeLock(target)))
    throw new Error(
      'TARGET_DATABASE_URL is the database of DATABASE_URL, or another npm run copy uses it. Name another one.',
    );
  const schemas = await requireMigrated(source, target);
  if (!(await isRecording(source))) {
    await requireLogicalLog(source);
    await requireNoUsers(target);
  }
  return schemas;
}

/** Until the connection ends. Such a lock is of one database, however its URL is written. */
async function takeLock(client: Client): Promise<boolean> {
  const { rows } = await client.query('SELECT pg_try_advisory_lock($1) AS taken', [COPY_LOCK]);
  return rows[0].taken;
}

async function requireMigrated(source: Client, target: Client): Promise<string[]> {
  // Reminders has no schema where it has never run.
  const { rowCount } = await source.query('SELECT FROM pg_namespace WHERE nspname = $1', [
    remindersSchema.schema,
  ]);
  const schemas = [accountsSchema, schedulingSchema, ...(rowCount === 0 ? [] : [remindersSchema])];
  for (const [variable, client] of [
    ['DATABASE_URL', source],
    ['TARGET_DATABASE_URL', target],
  ] as const) {
    for (const schema of schemas) {
      const pending = await pendingMigrations(queryableOf(client), schema);
      if (pending.length > 0)
        throw new Error(
          `The schema ${schema.schema} of ${variable} lacks ${pending.join(', ')}. ` +
            'If it is the right database, run npm run migrate with it as DATABASE_URL.',
        );
    }
  }
  return schemas.map(({ schema }) => schema);
}

async function requireLogicalLog(source: Client): Promise<void> {
  const { rows } = await source.query(`SELECT current_setting('wal_level') AS level`);
  if (rows[0].level !== 'logical')
    throw new Error(
      `The server of DATABASE_URL has wal_level = ${rows[0].level}. ` +
        `Run ALTER SYSTEM SET wal_level = 'logical' there, and restart PostgreSQL.`,
    );
}

/** A copy replaces rows, and does not see what was deleted before it began. */
async function requireNoUsers(target: Client): Promise<void> {
  const { rowCount } = await target.query('SELECT FROM accounts.users LIMIT 1');
  if (rowCount !== 0)
    throw new Error(
      'TARGET_DATABASE_URL already has users, and nothing is copied over them. Name a database that is migrated and empty.',
    );
}
