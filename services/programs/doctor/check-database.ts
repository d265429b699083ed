// Checks PostgreSQL: reachable, suitable, migrated, with enough connections; and KEY_PEPPER against the peppers of its keys.
import { Client } from 'pg';
import { type Pepper, pepperCheckValue } from '../../accounts/keys/rules.ts';
import { accountsSchema } from '../../accounts/service.ts';
import { CONNECTION_OPTIONS, howToReach, withConnection } from '../../platform/postgres/connection.ts';
import { type Queryable, queryableOf } from '../../platform/postgres/database.ts';
import type { Schema } from '../../platform/postgres/migrate.ts';
import { DATABASE_CHECKS, migrationsCheck } from '../../platform/postgres/service-database.ts';
import { counted } from '../../platform/process/command.ts';
import { oneLine } from '../../platform/thrown.ts';
import { remindersSchema } from '../../reminders/service.ts';
import { schedulingSchema } from '../../scheduling/service.ts';
import { clusterFolder, runningUrl } from '../program-database.ts';
import { checkNamed, type Finding } from './finding.ts';
import type { Settings } from './settings.ts';

const CONNECT_MS = 3000;
/** Maximum connections of each service, without the LISTEN connections of accounts. */
const POOL_SIZE = 16;

/** The database of DATABASE_URL, else the running one of npm start in DATA_DIR. */
export async function checkDatabase(settings: Settings): Promise<Finding[]> {
  const { ok, warning, bad } = checkNamed('database');
  if (settings.databaseUrl === undefined && !settings.isStart)
    return [ok('DATABASE_URL is not set here: there is nothing to check')];
  const directory = clusterFolder(settings.dataDir);
  const url = settings.databaseUrl ?? runningUrl(directory);
  const isOff = warning(
    `npm start is not running: no server in ${directory}, and DATABASE_URL is not set`,
    'run npm start and check again, or set DATABASE_URL to the PostgreSQL to check',
  );
  if (url === undefined) return [isOff];
  let client: Client;
  try {
    client = new Client({
      connectionString: url,
      application_name: 'doctor',
      connectionTimeoutMillis: CONNECT_MS,
      options: CONNECTION_OPTIONS,
      query_timeout: CONNECT_MS,
    });
  } catch {
    return [bad('DATABASE_URL is not a URL', 'write it as postgres://user:password@host:5432/name')];
  }
  client.on('error', () => {});
  try {
    await client.connect();
  } catch (error) {
    // A killed npm start leaves stale files.
    if (settings.databaseUrl === undefined) return [isOff];
    return [bad(`not reachable: ${oneLine(error)}`, howToReach(error))];
  }
  try {
    return await checkConnected(client, settings);
  } catch (error) {
    return [bad(`stopped answering: ${oneLine(error)}`, 'read the log of PostgreSQL')];
  } finally {
    await client.end().catch(() => {});
  }
}

async function checkConnected(client: Client, settings: Settings): Promise<Finding[]> {
  const db = queryableOf(client);
  const schemas = [accountsSchema, schedulingSchema, ...(settings.reminders ? [remindersSchema] : [])];
  const findings: Finding[] = [];
  for (const { name, run } of [...DATABASE_CHECKS, ...schemas.map(migrationsCheck)]) {
    const { found, remedy } = await run(db);
    findings.push(remedy === undefined ? checkNamed(name).ok(found) : checkNamed(name).bad(found, remedy));
  }
  return [
    await checkWrites(db, `${client.host}:${client.port}/${client.database}`),
    ...findings,
    await checkSession(settings.databaseSessionUrl),
    await checkSlots(db, schemas),
    ...(await checkPeppers(db, settings.peppers)),
  ];
}

async function checkWrites(db: Queryable, place: string): Promise<Finding> {
  const { ok, bad } = checkNamed('database');
  const [row] = await db.query<{ standby: boolean }>({
    text: `SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on' AS standby`,
    values: [],
  });
  return row?.standby
    ? bad(`${place} accepts no writes`, 'name the primary in DATABASE_URL, not a standby')
    : ok(`reachable at ${place}`);
}

/** DATABASE_SESSION_URL, which is for LISTEN and migrations. */
async function checkSession(url: string | undefined): Promise<Finding> {
  const { ok, bad } = checkNamed('database session');
  if (url === undefined) return ok('DATABASE_SESSION_URL is not set: DATABASE_URL leads to sessions');
  const remedy = 'set DATABASE_SESSION_URL to PostgreSQL itself, the database of DATABASE_URL';
  try {
    await withConnection({ connectionString: url, connectionTimeoutMillis: CONNECT_MS }, async () => {});
    return ok('DATABASE_SESSION_URL is reachable');
  } catch (error) {
    return bad(`DATABASE_SESSION_URL is not reachable: ${oneLine(error)}`, remedy);
  }
}

/** `schemas`: of the services, whose connections have the same names. */
async function checkSlots(db: Queryable, schemas: readonly Schema[]): Promise<Finding> {
  const { ok, warning } = checkNamed('database slots');
  const services = schemas.map(({ schema }) => schema);
  const [slots] = await db.query<{ most: number; used: number; ours: number[] }>({
    text: `SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
                    - coalesce(current_setting('reserved_connections', true)::int, 0) AS most,
                  count(*)::int AS used,
                  ARRAY(SELECT count(a.pid)::int FROM unnest($1::text[]) AS s (name)
                        LEFT JOIN pg_stat_activity a ON a.application_name = s.name AND a.backend_type = 'client backend'
                        GROUP BY s.name) AS ours
           FROM pg_stat_activity WHERE backend_type = 'client backend'`,
    values: [services],
  });
  if (slots === undefined) return warning('unknown', 'query pg_stat_activity by hand');
  const free = Math.max(0, slots.most - slots.used);
  const needed = slots.ours.reduce((sum, open) => sum + Math.max(0, POOL_SIZE - open), 0);
  const found = `${free} of ${slots.most} connections are free; one process each of ${services.join(', ')} may open ${needed} more`;
  if (free >= needed) return ok(found);
  return warning(found, 'raise max_connections, or find out in pg_stat_activity which clients hold them');
}

/** `peppers` is undefined in the environment of programs other than accounts. */
export async function checkPeppers(
  db: Queryable,
  peppers: readonly Pepper[] | undefined,
): Promise<Finding[]> {
  const { warning } = checkNamed('pepper');
  const [table] = await db.query<{ exists: boolean }>({
    text: "SELECT to_regclass('accounts.pepper_checks') IS NOT NULL AS exists",
    values: [],
  });
  if (table?.exists !== true) return [];
  if (peppers === undefined) {
    return [warning('KEY_PEPPER is not set here', 'run this with the environment of the accounts service')];
  }
  const stored = await db.query<{ version: string; value: Buffer; keys: number }>({
    text: `SELECT c.pepper_version AS version, c.check_value AS value,
             (SELECT count(*) FROM accounts.api_keys k
              WHERE k.pepper_version = c.pepper_version AND k.revoke_time IS NULL
                AND (k.expire_time IS NULL OR k.expire_time > clock_timestamp()))::int AS keys
           FROM accounts.pepper_checks c ORDER BY 1`,
    values: [],
  });
  const given = new Set(peppers.map(({ version }) => version));
  const lost = stored.filter(({ version, keys }) => keys > 0 && !given.has(version));
  return [
    ...peppers.map((pepper) => checkOne(pepper, stored)),
    ...lost.map(({ version, keys }) =>
      checkNamed(`pepper ${version}`).bad(
        `missing in KEY_PEPPER: ${counted(keys, 'valid key')} hashed with it cannot be used`,
        `add ${version}:SECRET to the end of KEY_PEPPER, with the original secret`,
      ),
    ),
  ];
}

function checkOne(pepper: Pepper, stored: readonly { version: string; value: Buffer }[]): Finding {
  const { ok, warning, bad } = checkNamed(`pepper ${pepper.version}`);
  const known = stored.find(({ version }) => version === pepper.version);
  if (known === undefined) {
    return warning(
      'new to this database',
      'nothing to do if this is intended: accounts stores it at its next start',
    );
  }
  if (known.value.equals(pepperCheckValue(pepper))) return ok('matches the secret in the database');
  return bad(
    'does not match the secret that this database has for that version: accounts will not start',
    'restore the original secret in KEY_PEPPER, or put a new secret with a new version in front of it',
  );
}
