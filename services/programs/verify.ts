// npm run verify: replays every material's history, checks the times of reminders, and reports inconsistencies.
import { createLogger } from '../platform/logging/logger.ts';
import { allRows, type Database, openDatabase } from '../platform/postgres/database.ts';
import { requireReachable } from '../platform/postgres/service-database.ts';
import { counted, runCommand, secondsSince, UsageError } from '../platform/process/command.ts';
import { readEnvironment } from '../platform/process/config.ts';
import { createProgress } from '../platform/process/terminal.ts';
import { errorCode, toError } from '../platform/thrown.ts';
import { NIL_UUID, readUuid } from '../platform/uuid.ts';
import {
  findReminderDrift,
  hasReminders,
  readStoredOccurrences,
  readStoredReminders,
  type StoredOccurrence,
  type StoredReminder,
} from '../reminders/users/drift.ts';
import { findDrift } from '../scheduling/user-data/replay.ts';
import { countMaterials, type History, readHistories } from '../scheduling/user-data/sql.ts';
import { givenDatabase, hasDatabase, openProgramDatabase } from './program-database.ts';

const HELP = `Replays the reviews and snoozes of every material in order of revision, and reports any drift.
Where the database has reminders, also checks that each has the next occurrence that follows from its settings, and that none
took place twice.

  npm run verify [-- --user ID]

  --user ID  only this user's

Reads DATABASE_SESSION_URL or DATABASE_URL, else the embedded server of DATA_DIR (default .data), and changes nothing. The
services may keep running.
Prints one line for each material whose schedule does not follow from its history and for each fault of a reminder, then the
counts. Exits with 0 if there is no drift, with 1 if there is, and with 2 on an error.
`;

const AT_A_TIME = 500;
const REMINDERS_AT_A_TIME = 1000;
const FIRST = { userId: NIL_UUID, materialId: NIL_UUID };
const FIRST_REMINDER = { userId: NIL_UUID, reminderId: NIL_UUID, date: '-infinity' };
/** Of each statement: the database may have many millions of rows. */
const PATIENT = { statementTimeoutMs: 600_000 };
/** SQLSTATEs of a column, a table and a function that a migration has yet to make. */
const NOT_THERE_YET = ['42703', '42P01', '42883'];
const ONE_SNAPSHOT = { text: 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY', values: [] };

const options = { user: { type: 'string' } } as const;

await runCommand({ name: 'npm run verify', help: HELP, options, failureCode: 2 }, async ({ user }) => {
  const userId = user === undefined ? undefined : readUuid(user);
  if (user !== undefined && userId === undefined) throw new UsageError('--user must be the id of a user.');
  if (!hasDatabase(process.env))
    throw new Error(
      'There is no data to verify: DATABASE_URL is not set, and DATA_DIR has no database. Run npm start first.',
    );
  const logLevel = readEnvironment(process.env, (reader) => reader.oneOf('LOG_LEVEL', 'warn'));
  const beganMs = performance.now();
  const { databaseUrl, place, close } = await openProgramDatabase(process.env);
  const logger = createLogger('verify', logLevel);
  const database = openDatabase({
    databaseUrl,
    applicationName: 'verify',
    maxConnections: 1,
    isPatient: true,
    logger,
  });
  try {
    await requireReachable(database, databaseUrl, givenDatabase(process.env)?.place);
    await requireMaterials(database, place);
    const drifted = await verifyMaterials(database, userId);
    const faults = await verifyReminders(database, userId);
    const isSound = drifted + faults === 0;
    const outcome = isSound
      ? 'Everything is as it should be.'
      : 'The lines above name what is wrong; nothing was changed.';
    process.stdout.write(`Verified ${place} in ${secondsSince(beganMs)}. ${outcome}\n`);
    return isSound ? 0 : 1;
  } catch (error) {
    if (!NOT_THERE_YET.includes(errorCode(error))) throw error;
    throw new Error(
      `The database of ${place} is older than this code (${toError(error).message}). Run npm start or npm run migrate, then this again.`,
      { cause: error },
    );
  } finally {
    await database.close();
    await close();
  }
});

async function requireMaterials(database: Database, place: string): Promise<void> {
  const text = `SELECT to_regclass('scheduling.materials') IS NOT NULL AS exists`;
  const [table] = await database.query<{ exists: boolean }>({ text, values: [] });
  if (table?.exists !== true)
    throw new Error(
      `The database of ${place} lacks the schema scheduling. Name another one, or run npm run migrate.`,
    );
}

/** @returns how many materials have drifted. */
async function verifyMaterials(database: Database, userId: string | undefined): Promise<number> {
  const count = await database.transaction((transaction) => countMaterials(transaction, userId), PATIENT);
  const progress = createProgress('materials', count);
  const counts = { materials: 0, reviews: 0, snoozes: 0, drifted: 0 };
  const histories = allRows((after: History | undefined) =>
    database.transaction(async (transaction) => {
      await transaction.query(ONE_SNAPSHOT);
      const key = after && { userId: after.userId, materialId: after.material.materialId };
      return readHistories(transaction, userId, { limit: AT_A_TIME, after: key ?? FIRST });
    }, PATIENT),
  );
  for await (const history of histories) {
    const { userId: owner, material, baseline, reviews, snoozes, settings } = history;
    counts.materials += 1;
    counts.reviews += reviews.length;
    counts.snoozes += snoozes.length;
    const drift = findDrift(material, reviews, snoozes, settings, baseline);
    if (drift.length > 0) {
      counts.drifted += 1;
      progress.clear();
      process.stdout.write(`user ${owner} material ${material.materialId}: ${drift.join('; ')}\n`);
    }
    progress.advance(1);
  }
  progress.end();
  process.stdout.write(
    `${counted(counts.materials, 'material')}, ${counted(counts.reviews, 'review')}, ` +
      `${counted(counts.snoozes, 'snooze')}: ${counts.drifted.toLocaleString('en')} drifted\n`,
  );
  return counts.drifted;
}

/** Prints each fault and the counts. `userId` undefined: all users. @returns how many faults; 0 without the tables. */
async function verifyReminders(database: Database, userId: string | undefined): Promise<number> {
  if (!(await hasReminders(database))) return 0;
  const counts = { reminders: 0, drifted: 0, occurrences: 0, twice: 0 };
  const limit = REMINDERS_AT_A_TIME;
  const reminders = allRows((after: StoredReminder | undefined) =>
    readStoredReminders(database, userId, { limit, after: after ?? FIRST_REMINDER }),
  );
  for await (const reminder of reminders) {
    counts.reminders += 1;
    const drift = findReminderDrift(reminder);
    if (drift.length > 0) counts.drifted += 1;
    for (const problem of drift) print(reminder, problem);
  }
  const occurrences = allRows((after: StoredOccurrence | undefined) =>
    readStoredOccurrences(database, userId, { limit, after: after ?? FIRST_REMINDER }),
  );
  for await (const { times, ...occurrence } of occurrences) {
    counts.occurrences += 1;
    if (times.length === 1) continue;
    counts.twice += 1;
    const shown = times.map((time) => time.toISOString()).join(' and ');
    print(occurrence, `${occurrence.date} took place twice, at ${shown}`);
  }
  process.stdout.write(
    `${counted(counts.reminders, 'reminder')}: ${counts.drifted.toLocaleString('en')} drifted; ` +
      `${counted(counts.occurrences, 'occurrence')}: ${counts.twice.toLocaleString('en')} twice\n`,
  );
  return counts.drifted + counts.twice;
}

function print({ userId, reminderId }: { userId: string; reminderId: string }, problem: string): void {
  process.stdout.write(`user ${userId} reminder ${reminderId}: ${problem}\n`);
}
