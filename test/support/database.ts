// A fresh, empty database for a test file, on the run's own PostgreSQL; and a statement on any.
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { inject } from 'vitest';

export type TestDatabase = { databaseUrl: string; drop(): Promise<void> };

export async function createTestDatabase(): Promise<TestDatabase> {
  const server = inject('postgresUrl');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await ask(server, `CREATE DATABASE ${name}`);
  const databaseUrl = new URL(server);
  databaseUrl.pathname = `/${name}`;
  return {
    databaseUrl: databaseUrl.href,
    drop: async () => void (await ask(server, `DROP DATABASE ${name} WITH (FORCE)`)),
  };
}

/** The rows of one statement, on a connection of its own. */
export async function ask<R extends object>(databaseUrl: string, text: string): Promise<R[]> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  return client
    .query<R>(text)
    .then(({ rows }) => rows)
    .finally(() => client.end());
}
