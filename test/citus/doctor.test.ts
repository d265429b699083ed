// What npm run doctor says of a Citus cluster.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { migrate } from '../../services/platform/postgres/migrate.ts';
import { distributeScheduling } from '../../services/scheduling/distribute.ts';
import { schedulingSchema } from '../../services/scheduling/service.ts';
import { createCitusDatabase, hasCitus } from '../support/citus.ts';
import { root } from '../support/processes.ts';

let database: Awaited<ReturnType<typeof createCitusDatabase>>;
beforeAll(async () => {
  if (!hasCitus) return;
  database = await createCitusDatabase();
  const { databaseUrl } = database;
  await migrate({ databaseUrl, ...schedulingSchema, logger: createLogger('test', 'silent') });
});
afterAll(async () => {
  if (hasCitus) await database.drop();
});

type Finding = { check: string; state: string; found: string; remedy?: string };

/** The findings about Citus, as [check, state, found]. */
async function findings(databaseUrl: string): Promise<string[][]> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [`${root}/services/programs/doctor/main.ts`, '--json'],
    { env: { PATH: process.env.PATH, DATABASE_URL: databaseUrl } },
    // Other checks fail here: it runs no services.
  ).catch((error: { stdout: string }) => error);
  return (JSON.parse(stdout) as Finding[])
    .filter(({ check }) => check.startsWith('citus'))
    .map(({ check, state, found }) => [check.replace(/ .*/, ''), state, found.replace(/^\d+/, 'N')]);
}

test.skipIf(!hasCitus)('the cluster is examined before, during and after the distribution', async () => {
  expect(await findings(database.databaseUrl)).toEqual([
    ['citus', 'warning', 'the tables are not distributed'],
  ]);
  await distributeScheduling(database.databaseUrl);
  const free = 'N connections are free; one scheduling may need 16';
  const workers = database.workers.map(() => ['citus', 'ok', free]);
  expect(await findings(database.databaseUrl)).toEqual([
    ['citus', 'ok', 'distributed, and functions run on the nodes of their users'],
    ...workers,
  ]);
  const sql = new Client({ connectionString: database.databaseUrl });
  await sql.connect();
  await sql.query('UPDATE pg_dist_object SET distribution_argument_index = NULL');
  await sql.end();
  expect(await findings(database.databaseUrl)).toEqual([
    ['citus', 'warning', 'functions run on the coordinator'],
    ...workers,
  ]);
});

test.skipIf(!hasCitus)('a worker in place of the coordinator is named', async () => {
  expect(await findings(database.workers[0] ?? '')).toEqual([
    ['citus', 'bad', 'DATABASE_URL names a worker'],
  ]);
});
