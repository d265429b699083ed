// PostgreSQL: reachable, suitable, migrated, with enough connections; and KEY_PEPPER against the peppers of its keys.
import { isDeepStrictEqual } from 'node:util';
import { Client } from 'pg';
import { countKeysOfPeppers, pepperCheck } from '../../accounts/keys/sql.ts';
import { accountsSchema } from '../../accounts/service.ts';
import { bad, type Check, ok, warning } from '../../platform/checks.ts';
import { CONNECTION_OPTIONS, howToReach, withConnection } from '../../platform/postgres/connection.ts';
import { type Queryable, queryableOf, rowOf } from '../../platform/postgres/database.ts';
import type { Schema } from '../../platform/postgres/migrate.ts';
import { DATABASE_CHECKS, migrationsCheck } from '../../platform/postgres/service-database.ts';
import { counted } from '../../platform/process/command.ts';
import { errorCode, oneLine } from '../../platform/thrown.ts';
import { remindersSchema } from '../../reminders/service.ts';
import { schedulingSchema } from '../../scheduling/service.ts';
import { clusterFolder, runningUrl } from '../program-database.ts';
import { ANSWER_MS, type Named, runChecks } from './finding.ts';
import type { Settings } from './settings.ts';

/** Maximum connections of each service, without the LISTEN connections of accounts. */
const POOL_SIZE = 16;
const MIGRATED_FIRST = migrationsCheck(accountsSchema);

/** The database of DATABASE_URL, else the running one of npm start in DATA_DIR. */
export async function checkDatabase(settings: Settings): Promise<Named[]> {
  const check = 'database';
  if (settings.databaseUrl === undefined && !settings.isStart)
    return [{ check, ...ok('DATABASE_URL is not set here: there is nothing to check') }];
  const directory = clusterFolder(settings.dataDir);
  const url = settings.databaseUrl ?? runningUrl(directory);
  const isOff = warning(
    `npm start is not running: no server in ${directory}, and DATABASE_URL is not set`,
    'run npm start and check again, or set DATABASE_URL to the PostgreSQL to check',
  );
  if (url === undefined) return [{ check, ...isOff }];
  let client: Client;
  try {
    client = new Client({
      connectionString: url,
      application_name: 'doctor',
      connectionTimeoutMillis: ANSWER_MS,
      options: CONNECTION_OPTIONS,
      query_timeout: ANSWER_MS,
    });
  } catch (error) {
    const remedy =
      'write it as postgres://user:password@host:5432/name, with parameters as in docs/operations/database.md#tls';
    return [{ check, ...bad(`DATABASE_URL cannot be used: ${oneLine(error)}`, remedy) }];
  }
  client.on('error', () => {});
  try {
    await client.connect();
  } catch (error) {
    // A killed npm start leaves stale files.
    const away = bad(`not reachable: ${oneLine(error)}`, howToReach(error));
    return [{ check, ...(settings.databaseUrl === undefined ? isOff : away) }];
  }
  try {
    const schemas = [accountsSchema, schedulingSchema, ...(settings.reminders ? [remindersSchema] : [])];
    const checks = [
      writesCheck(`${client.host}:${client.port}/${client.database}`),
      ...DATABASE_CHECKS,
      ...schemas.map(migrationsCheck),
      sessionCheck(settings.scheduling.databaseSessionUrl),
      slotsCheck(schemas),
    ];
    const db = queryableOf(client);
    return [...(await runChecks(checks, db)), ...(await checkPeppers(db, settings))];
  } catch (error) {
    if (errorCode(error) === '42501') return [{ check, ...bad(oneLine(error), howToReach(error)) }];
    return [{ check, ...bad(`stopped answering: ${oneLine(error)}`, 'read the log of PostgreSQL') }];
  } finally {
    await client.end().catch(() => {});
  }
}

const writesCheck = (place: string): Check<Queryable> => ({
  name: 'database',
  async run(db) {
    const { standby } = await rowOf<{ standby: boolean }>(db, {
      text: `SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on' AS standby`,
      values: [],
    });
    return standby
      ? bad(`${place} accepts no writes`, 'name the primary in DATABASE_URL, not a standby')
      : ok(`reachable at ${place}`);
  },
});

/** Which server, by the time of its start, and which of its databases. As numbers, since the sessions can have two time zones. */
const readPlace = (db: Queryable) =>
  rowOf<{ startSeconds: string; database: number }>(db, {
    text: `SELECT extract(epoch FROM pg_postmaster_start_time()) AS "startSeconds", oid AS database
           FROM pg_database WHERE datname = current_database()`,
    values: [],
  });

/** `url`: DATABASE_SESSION_URL, which is for LISTEN and migrations. */
const sessionCheck = (url: string | undefined): Check<Queryable> => ({
  name: 'database session',
  async run(db) {
    if (url === undefined) return ok('DATABASE_SESSION_URL is not set: DATABASE_URL leads to sessions');
    const remedy = 'set DATABASE_SESSION_URL to PostgreSQL itself, the database of DATABASE_URL';
    const place = await readPlace(db);
    const timeouts = { connectionTimeoutMillis: ANSWER_MS, query_timeout: ANSWER_MS };
    try {
      const ofSession = await withConnection({ connectionString: url, ...timeouts }, (session) =>
        readPlace(queryableOf(session)),
      );
      if (isDeepStrictEqual(ofSession, place)) return ok('DATABASE_SESSION_URL is reachable');
      return bad('DATABASE_SESSION_URL leads to another database than DATABASE_URL', remedy);
    } catch (error) {
      return bad(`DATABASE_SESSION_URL is not reachable: ${oneLine(error)}`, remedy);
    }
  },
});

/** `schemas`: of the services, whose connections have the same names. */
const slotsCheck = (schemas: readonly Schema[]): Check<Queryable> => ({
  name: 'database slots',
  async run(db) {
    const services = schemas.map(({ schema }) => schema);
    const slots = await rowOf<{ most: number; used: number; ours: number[] }>(db, {
      // Of the sessions of other roles, a role of the services sees user and database, and no backend_type.
      text: `WITH clients AS (
               SELECT application_name FROM pg_stat_activity
               WHERE usesysid IS NOT NULL AND datid IS NOT NULL AND coalesce(backend_type, 'client backend') = 'client backend')
             SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
                      - coalesce(current_setting('reserved_connections', true)::int, 0) AS most,
                    count(*)::int AS used,
                    ARRAY(SELECT count(c.application_name)::int FROM unnest($1::text[]) AS s (name)
                          LEFT JOIN clients c ON c.application_name = s.name
                          GROUP BY s.name) AS ours
             FROM clients`,
      values: [services],
    });
    const free = Math.max(0, slots.most - slots.used);
    const needed = slots.ours.reduce((sum, open) => sum + Math.max(0, POOL_SIZE - open), 0);
    const found = `${free} of ${slots.most} connections are free; one process each of ${services.join(', ')} may open ${needed} more`;
    if (free >= needed) return ok(found);
    return warning(found, 'raise max_connections, or find out in pg_stat_activity which clients hold them');
  },
});

/** Those of KEY_PEPPER, and those that it lacks although keys need them. The code reads the latest schema of accounts only. */
async function checkPeppers(db: Queryable, { peppers }: Settings): Promise<Named[]> {
  if ((await MIGRATED_FIRST.run(db)).state !== 'ok') {
    const remedy = 'apply the migrations of accounts, then run this again';
    return [{ check: 'pepper', ...warning('not checked: migrations of accounts are pending', remedy) }];
  }
  if (peppers === undefined) {
    const remedy = 'run this with the environment of the accounts service';
    return [{ check: 'pepper', ...warning('KEY_PEPPER is not set here', remedy) }];
  }
  const given = new Set(peppers.map(({ version }) => version));
  const lost = (await countKeysOfPeppers(db)).filter(({ version }) => !given.has(version));
  return [
    ...(await runChecks(peppers.map(pepperCheck), db)),
    ...lost.map(({ version, keys }) => ({
      check: `pepper ${version}`,
      ...bad(
        `missing in KEY_PEPPER: ${counted(keys, 'valid key')} hashed with it cannot be used`,
        `add ${version}:SECRET to the end of KEY_PEPPER, with the original secret`,
      ),
    })),
  ];
}
