// What npm run doctor says of a Citus cluster.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
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

/** The findings whose check begins with a word, as [check, state, found]. */
async function findings(databaseUrl: string, word = 'citus'): Promise<string[][]> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [`${root}/services/programs/doctor/main.ts`, '--json'],
    { env: { PATH: process.env.PATH, DATABASE_URL: databaseUrl } },
    // Other checks fail here: it runs no services.
  ).catch((error: { stdout: string }) => error);
  return (JSON.parse(stdout) as Finding[])
    .filter(({ check }) => check.startsWith(word))
    .map(({ check, state, found }) => [word === 'citus' ? word : check, state, found.replace(/^\d+/, 'N')]);
}

test.skipIf(!hasCitus)('the cluster is examined before, during and after the distribution', async () => {
  expect(await findings(database.databaseUrl)).toEqual([
    ['citus', 'warning', 'the tables are not distributed'],
  ]);
  await distributeScheduling(database.databaseUrl);
  const free = 'N connections are free; one scheduling may need 16';
  const leak = 'keeps plans that Citus never frees, since DATABASE_URL names only the coordinator';
  const workers = database.workers.flatMap(() => [
    ['citus', 'ok', free],
    ['citus', 'warning', leak],
  ]);
  expect(await findings(database.databaseUrl)).toEqual([
    ['citus', 'ok', 'distributed, and functions run on the nodes of their users'],
    ...workers,
  ]);
  const { host } = new URL(database.databaseUrl);
  const hosts = [host, ...database.workers.map((url) => new URL(url).host)].join(',');
  const all = await findings(database.databaseUrl.replace(host, hosts));
  expect(all.map(([, , found]) => found)).not.toContain(leak);
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
    ['citus', 'bad', 'DATABASE_URL names a worker first'],
  ]);
});

test.skipIf(!hasCitus)('each other host is examined, and one that fails is named', async () => {
  const [one = '', two = ''] = database.workers.map((url) => new URL(url).host);
  const { pathname } = new URL(database.databaseUrl);
  // A server outside the cluster, with a database of the same name. The cluster trusts its user.
  const server = new URL(inject('postgresUrl'));
  const sql = new Client({ connectionString: server.href });
  await sql.connect();
  await sql.query(`CREATE DATABASE ${pathname.slice(1)}`);
  const hostsOf = (...hosts: string[]) => {
    const { username, password } = server;
    return findings(`postgres://${username}:${password}@${hosts.join(',')}${pathname}`, 'host');
  };
  const good = 'reachable, and a node of the cluster';
  const coordinator = new URL(database.databaseUrl).host;
  expect(await hostsOf(coordinator, one, two)).toEqual([
    [`host ${one}${pathname}`, 'ok', good],
    [`host ${two}${pathname}`, 'ok', good],
  ]);
  const refused = 'not reachable: connect ECONNREFUSED 127.0.0.1:1';
  expect(await hostsOf(coordinator, '127.0.0.1:1', two, server.host)).toEqual([
    [`host 127.0.0.1:1${pathname}`, 'bad', refused],
    [`host ${two}${pathname}`, 'ok', good],
    [`host ${server.host}${pathname}`, 'bad', 'not a node of the cluster of the first host'],
  ]);
  // While the coordinator is down, the first host that responds knows the cluster.
  expect(await hostsOf('127.0.0.1:1', one, server.host)).toEqual([
    [`host ${one}${pathname}`, 'ok', good],
    [`host ${server.host}${pathname}`, 'bad', 'not a node of the cluster of the first host'],
  ]);
  await sql.query(`DROP DATABASE ${pathname.slice(1)}`);
  await sql.end();
});
