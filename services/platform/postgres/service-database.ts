// The database of a service: opens its pool and migrates its schema, checks it at start and while it runs, and deletes expired rows.
import { setTimeout as sleep } from 'node:timers/promises';
import { bad, type Check, ok, requireGood, warning } from '../checks.ts';
import { endsWithin } from '../concurrency.ts';
import { ServiceError } from '../errors.ts';
import type { Logger } from '../logging/logger.ts';
import type { Readiness } from '../observability/readiness.ts';
import { type Telemetry, watchLag } from '../observability/telemetry.ts';
import type { DatabasePlace } from '../process/common-config.ts';
import { CONNECTION_SETTINGS, CREATE_DATABASE, howToReach, unreachable } from './connection.ts';
import { type Database, openDatabase, type Queryable, rowOf } from './database.ts';
import { isUnavailable } from './faults.ts';
import { migrate, pendingMigrations, type Schema } from './migrate.ts';

/** Connections opened at start: a new replica gets its full share of requests at once, and a busy PostgreSQL needs 0.5 s for each. */
const OPENED_AHEAD = 4;

/**
 * Opens the pool, migrates the schema and adds readiness checks. `prepares`: whether named statements are prepared if there is no pooler;
 * default true. `isPatient`: as in `openDatabase`. `stopping` ends the wait for other processes that migrate.
 * @throws the reason of `stopping`, or Error if the database is unsuitable; then nothing is left open.
 */
export async function openServiceDatabase(options: {
  place: DatabasePlace;
  schema: Schema;
  logger: Logger;
  telemetry: Telemetry;
  prepares?: boolean;
  isPatient?: boolean;
  stopping?: AbortSignal | undefined;
}): Promise<Database> {
  const { place, schema, logger, telemetry, prepares = true, isPatient = false, stopping } = options;
  const database = openDatabase({
    databaseUrl: place.databaseUrl,
    prepares: prepares && place.databaseSessionUrl === undefined,
    applicationName: schema.schema,
    maxConnections: 16,
    isPatient,
    logger,
    telemetry,
  });
  try {
    await requireReachable(database, place.databaseUrl);
    const checks = isPatient ? SERVER_CHECKS : DATABASE_CHECKS;
    await requireGood('the database of DATABASE_URL cannot be used', checks, database);
    const variable = place.databaseSessionUrl === undefined ? 'DATABASE_URL' : 'DATABASE_SESSION_URL';
    await migrate({ databaseUrl: sessionUrl(place), variable, ...schema, logger, stopping });
    await openAhead(database);
  } catch (error) {
    await database.close();
    throw error;
  }
  addDatabaseChecks(telemetry.readiness, database, schema);
  return database;
}

/** Runs statements at the same time, so that each opens a connection. After a failure, connections are opened when they are needed. */
async function openAhead(database: Database): Promise<void> {
  const statements = Array.from({ length: OPENED_AHEAD }, () =>
    database.query({ text: 'SELECT 1', values: [] }),
  );
  await Promise.allSettled(statements);
}

/** A schema that is newer than the code passes the check, since old processes still run during an upgrade. */
function addDatabaseChecks(readiness: Pick<Readiness, 'add'>, database: Database, schema: Schema): void {
  readiness.add({
    name: `${schema.schema}/database`,
    async run() {
      await database.query({ text: 'SELECT 1', values: [] });
      const refusal = database.refusal();
      if (refusal === undefined) return ok('answers');
      return warning(
        `new connections are refused (${refusal})`,
        howToReach(Object.assign(new Error(), { code: refusal })),
      );
    },
  });
  const { run } = migrationsCheck(schema);
  readiness.add({ name: `${schema.schema}/migrations`, run: () => run(database) });
}

/** The URL for LISTEN and for the migration lock, which do not work through a pooler in transaction mode. */
export const sessionUrl = ({ databaseUrl, databaseSessionUrl = databaseUrl }: DatabasePlace) =>
  databaseSessionUrl;

/** Waits this long for a database that is still starting. */
const START_TIMEOUT_MS = 5000;
const RETRY_MS = 200;

/**
 * Resolves once the database answers.
 * @throws Error that names the place, the reason and the remedy, but no password; after 5 s if the reason could pass.
 */
export async function requireReachable(
  database: Queryable,
  databaseUrl: string,
  variable = 'DATABASE_URL',
): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  for (;;) {
    try {
      await database.query({ text: 'SELECT 1', values: [] });
      return;
    } catch (error) {
      const isPassing = isUnavailable(error instanceof ServiceError ? error.cause : error);
      if (!isPassing || performance.now() > deadline) throw unreachable(databaseUrl, error, variable);
      await sleep(RETRY_MS);
    }
  }
}

/** Of what is the same for every connection. */
const SERVER_CHECKS: readonly Check<Queryable>[] = [
  {
    name: 'database version',
    async run(db) {
      const { version, number } = await rowOf<{ version: string; number: number }>(db, {
        text: `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number`,
        values: [],
      });
      const found = `PostgreSQL ${version}`;
      return number >= 150_000 ? ok(found) : bad(found, 'upgrade to PostgreSQL 15 or newer');
    },
  },
  {
    name: 'database locale',
    async run(db) {
      const { encoding, folds } = await rowOf<{ encoding: string; folds: boolean }>(db, {
        text: `SELECT current_setting('server_encoding') AS encoding, lower('É') = 'é' AS folds`,
        values: [],
      });
      if (encoding === 'UTF8' && folds) return ok('UTF8, and É matches é');
      return bad(
        `encoding ${encoding}, and É ${folds ? 'matches' : 'does not match'} é: searches would miss words`,
        `make one that can: ${CREATE_DATABASE}, copy the data, and set DATABASE_URL to it`,
      );
    },
  },
];

/** Run at the start of a service, and by npm run doctor. */
export const DATABASE_CHECKS: readonly Check<Queryable>[] = [
  ...SERVER_CHECKS,
  {
    name: 'database settings',
    // Without our settings, as behind a pooler, statements would wait without an end.
    async run(db) {
      const rows = await db.query<{ name: string; value: string }>({
        text: 'SELECT name, current_setting(name) AS value FROM unnest($1::text[]) AS asked (name)',
        values: [Object.keys(CONNECTION_SETTINGS)],
      });
      const wrong = rows.filter(({ name, value }) => value !== CONNECTION_SETTINGS[name]);
      if (wrong.length === 0) return ok('time-outs and time zone are ours');
      const remedies = wrong.map(
        ({ name }) => `ALTER ROLE user SET ${name} = '${CONNECTION_SETTINGS[name]}';`,
      );
      return bad(
        `do not take our settings (${wrong.map(({ name, value }) => `${name} is ${value}`).join(', ')}), as behind a pooler`,
        `Give them to the user of DATABASE_URL, and restart the pooler: ${remedies.join(' ')}`,
      );
    },
  },
];

/** Asked again by GET /ready, and by npm run doctor. */
export const migrationsCheck = (schema: Schema): Check<Queryable> => ({
  name: `migrations ${schema.schema}`,
  async run(db) {
    const pending = await pendingMigrations(db, schema);
    if (pending.length === 0) return ok('up to date');
    return bad(
      `not applied: ${pending.join(', ')}`,
      'run npm run migrate, or start the service, which migrates first',
    );
  },
});

/** How often `watchDatabase` looks, and how long it waits for a response. */
const LOOK_MS = 500;
const ANSWER_MS = 1000;

/**
 * Calls `onChange` when the database stops responding and when it responds again; the initial state is responding. A busy
 * database whose statements succeed never counts as lost. @returns a function that stops watching.
 */
export function watchDatabase(database: Database, onChange: (isAnswering: boolean) => void): () => void {
  let answers = database.answers();
  let isAnswering = true;
  let isAsking = false;
  const look = async () => {
    if (isAsking) return;
    isAsking = true;
    const was = answers;
    const now = database.answers() !== was || (await answersNow(database)) || database.answers() !== was;
    answers = database.answers();
    isAsking = false;
    if (now === isAnswering || ended) return;
    isAnswering = now;
    onChange(now);
  };
  let ended = false;
  const timer = setInterval(() => void look(), LOOK_MS).unref();
  return () => {
    ended = true;
    clearInterval(timer);
  };
}

/** Whether SELECT 1 succeeds within a second. */
function answersNow(database: Database): Promise<boolean> {
  const asked = database.query({ text: 'SELECT 1', values: [] });
  return endsWithin(asked, ANSWER_MS).catch(() => false);
}

/**
 * Deletes rows older than `lifetimeMs`, at once and then every `everyMs`. `deleteSome` deletes a batch from before an instant, and returns
 * whether there may be more. A failure is logged with the message `failure`, and the next run tries again.
 * @returns a function that stops it.
 */
export function sweepRegularly(
  sweep: { task: string; failure: string; everyMs: number; lifetimeMs: number },
  { now, logger, telemetry }: { now: () => Date; logger: Logger; telemetry: Telemetry },
  deleteSome: (before: Date) => Promise<boolean>,
): () => void {
  const { task, failure, everyMs, lifetimeMs } = sweep;
  const markDone = watchLag(telemetry, task, everyMs);
  let isStopped = false;
  const run = async () => {
    try {
      const before = new Date(now().getTime() - lifetimeMs);
      while (!isStopped && (await deleteSome(before)));
      markDone();
    } catch (error) {
      if (!isStopped) logger.warn({ err: error }, failure);
    }
  };
  void run();
  const timer = setInterval(() => void run(), everyMs).unref();
  return () => {
    isStopped = true;
    clearInterval(timer);
  };
}

/** Rows of a statement, so that none holds its locks for long. */
const DELETED_AT_A_TIME = 1000;

/**
 * Deletes up to 1,000 rows of `table` whose `column` is earlier than `before`, the oldest first. The table must be neither partitioned nor
 * distributed. @returns whether there may be more.
 */
export async function deleteOldest(
  db: Queryable,
  { table, column, before }: { table: string; column: string; before: Date },
): Promise<boolean> {
  const rows = await db.query({
    name: `delete-oldest-${table}`,
    text: `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
             SELECT ctid FROM ${table} WHERE ${column} < $1::timestamptz ORDER BY ${column} LIMIT ${DELETED_AT_A_TIME}))
           RETURNING 1`,
    values: [before],
  });
  return rows.length === DELETED_AT_A_TIME;
}
