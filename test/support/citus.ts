// A fresh database on the Citus cluster whose coordinator CITUS_URL names, as a superuser. Without one, these tests are skipped.
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import type { TestDatabase } from './database.ts';

const { CITUS_URL } = process.env;
/** Whether there is a cluster to test on. */
export const hasCitus = Boolean(CITUS_URL);
if (!hasCitus) process.stderr.write('Skipped: tests on Citus, since CITUS_URL names no coordinator.\n');

/** `name`: of the database on every node. `workers`: the same database, entered through each worker. */
export async function createCitusDatabase(): Promise<TestDatabase & { workers: string[] }> {
  const server = CITUS_URL ?? '';
  const nodes = await execute(server, [
    'SELECT nodename, nodeport, groupid FROM pg_dist_node ORDER BY groupid',
  ]);
  const name = `test_${randomBytes(6).toString('hex')}`;
  const urls = nodes.map(({ nodename, nodeport }) => at(server, `${nodename}:${nodeport}`));
  // One after the other: a node that is making a database for another test file can refuse to become a worker.
  const turn = new Client({ connectionString: server });
  await turn.connect();
  await turn.query('SELECT pg_advisory_lock(1)');
  for (const url of urls) {
    await execute(url, [
      'SET citus.enable_create_database_propagation = off',
      `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8'`,
    ]);
    await execute(into(url, name), ['CREATE EXTENSION citus']);
  }
  const databaseUrl = into(server, name);
  await execute(
    databaseUrl,
    nodes.map(({ nodename, nodeport, groupid }) =>
      Number(groupid) === 0
        ? `SELECT citus_set_coordinator_host('${nodename}', ${nodeport})`
        : `SELECT citus_add_node('${nodename}', ${nodeport})`,
    ),
  ).finally(() => turn.end());
  return {
    databaseUrl,
    workers: urls.slice(1).map((url) => into(url, name)),
    async drop() {
      for (const url of urls)
        await execute(url, [
          'SET citus.enable_create_database_propagation = off',
          `DROP DATABASE ${name} WITH (FORCE)`,
        ]);
    },
  };
}

function at(databaseUrl: string, host: string): string {
  const url = new URL(databaseUrl);
  url.host = host;
  return url.href;
}

function into(databaseUrl: string, name: string): string {
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/** The rows of the last statement; all run in one session. */
async function execute(
  databaseUrl: string,
  statements: readonly string[],
): Promise<Record<string, string>[]> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    let rows: Record<string, string>[] = [];
    for (const statement of statements) ({ rows } = await client.query(statement));
    return rows;
  } finally {
    await client.end();
  }
}
