// npm run seed: fills a database with realistic learners.
import { randomBytes } from 'node:crypto';
import type { Client } from 'pg';
import { v7 as uuidV7 } from 'uuid';
import { accountsSchema } from '../../accounts/service.ts';
import { createLogger } from '../../platform/logging/logger.ts';
import { withConnection } from '../../platform/postgres/connection.ts';
import { openDatabase } from '../../platform/postgres/database.ts';
import { migrate } from '../../platform/postgres/migrate.ts';
import {
  counted,
  runCommand,
  secondsSince,
  UsageError,
  wholeNumber,
} from '../../platform/process/command.ts';
import { createProgress } from '../../platform/process/terminal.ts';
import { remindersSchema } from '../../reminders/service.ts';
import { countLearners } from '../../scheduling/count-learners.ts';
import { schedulingSchema } from '../../scheduling/service.ts';
import { givenDatabaseUrl, openProgramDatabase } from '../program-database.ts';
import { type Learner, writeLearners } from './copy.ts';
import { drawHabit, historyFor, makeMaterial, makePastEvents } from './learner.ts';
import { makeReminders } from './reminders.ts';

const HELP = `Creates sample learners with materials, review histories and timelines.

  npm run seed [-- --users N --materials M --reviews R --yes]

  --users N      number of learners, 1 to 100,000; default 20
  --materials M  materials per learner, 1 to 10,000; default 200
  --reviews R    average reviews per material, 0 to 100; default 10
  --yes          required with DATABASE_URL, because the command writes there

Without DATABASE_URL it writes to the embedded server of DATA_DIR (default .data), which it starts if necessary.
Where the database has the tables of reminders, half of the learners get some, by e-mail to addresses of example.com.
At the end it prints the counts, and the e-mail address of one of the learners.
Exits with 0, and with 1 on an error.
`;
const TIME_ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Asia/Tokyo',
  'America/Sao_Paulo',
  'Asia/Kolkata',
];
type LearnerSize = { materials: number; reviews: number; withReminders: boolean };

/** Approximate number of reviews per transaction. */
const REVIEWS_AT_A_TIME = 50_000;

const text = { type: 'string' } as const;
const options = { users: text, materials: text, reviews: text, yes: { type: 'boolean' } } as const;

await runCommand({ name: 'npm run seed', help: HELP, options }, async (values) => {
  const size = {
    users: wholeNumber('--users', values.users ?? '20', 1, 100_000),
    materials: wholeNumber('--materials', values.materials ?? '200', 1, 10_000),
    reviews: wholeNumber('--reviews', values.reviews ?? '10', 0, 100),
  };
  if (givenDatabaseUrl(process.env) !== undefined && !values.yes)
    throw new UsageError('This command writes to DATABASE_URL. Add --yes to confirm.');
  const beganMs = performance.now();
  const { databaseUrl, place, close } = await openProgramDatabase(process.env);
  try {
    const connection = { connectionString: databaseUrl, application_name: 'seed' };
    const logger = createLogger('seed', 'warn');
    for (const schema of [accountsSchema, schedulingSchema])
      await migrate({ databaseUrl, ...schema, logger });
    const withReminders = await withConnection(connection, hasReminders);
    if (withReminders) await migrate({ databaseUrl, ...remindersSchema, logger });
    const { email, reviews } = await withConnection(connection, (client) =>
      seed(client, { ...size, withReminders }),
    );
    // The dashboard's home shows the new learners at once.
    const database = openDatabase({ databaseUrl, applicationName: 'seed', maxConnections: 1, logger });
    await countLearners(database, new Date()).finally(() => database.close());
    const counts = `${counted(size.users, 'learner')}, ${counted(size.users * size.materials, 'material')} and ${counted(reviews, 'review')}`;
    process.stdout.write(
      `Created ${counts} in ${place}, in ${secondsSince(beganMs)}.\n` +
        `Look at one of them in the dashboard: ${email}\n`,
    );
  } finally {
    await close();
  }
});

/** @returns the address of one of the learners, and how many reviews all of them have. */
async function seed(
  client: Client,
  { users, materials, reviews, withReminders }: LearnerSize & { users: number },
): Promise<{ email: string; reviews: number }> {
  const run = randomBytes(3).toString('hex');
  let written = 0;
  const progress = createProgress('learners', users);
  const atATime = Math.max(1, Math.floor(REVIEWS_AT_A_TIME / (materials * Math.max(1, reviews))));
  try {
    for (let first = 1; first <= users; first += atATime) {
      const count = Math.min(atATime, users - first + 1);
      const learners = Array.from({ length: count }, (_, index) =>
        makeLearner(`learner${first + index}.${run}@example.com`, { materials, reviews, withReminders }),
      );
      await writeLearners(client, learners);
      written += learners.flatMap(({ materials: made }) => made.flatMap((each) => each.reviews)).length;
      progress.advance(count);
    }
    await client.query('ANALYZE');
  } finally {
    progress.end();
  }
  return { email: `learner1.${run}@example.com`, reviews: written };
}

async function hasReminders(client: Client): Promise<boolean> {
  const { rows } = await client.query("SELECT to_regclass('reminders.reminders') IS NOT NULL AS exists");
  return rows[0].exists;
}

function makeLearner(
  email: string,
  { materials: materialCount, reviews: reviewCount, withReminders }: LearnerSize,
): Learner {
  const now = new Date();
  const newId = (time: Date) =>
    uuidV7({ msecs: time.getTime(), random: randomBytes(16), seq: Math.floor(Math.random() * 2 ** 31) });
  const { days, longestWaitDays } = historyFor(reviewCount);
  const habit = drawHabit({ nowMs: now.getTime(), days, longestWaitDays, isStudying: reviewCount > 0 });
  const materials = Array.from({ length: materialCount }, () =>
    makeMaterial({ habit, startDay: days * Math.random(), newId }),
  );
  const createTime = new Date(
    Math.min(now.getTime(), ...materials.map(({ material }) => material.createTime.getTime())),
  );
  const timeZone = TIME_ZONES[Math.floor(Math.random() * TIME_ZONES.length)] ?? 'UTC';
  const userId = newId(createTime);
  const reminders = withReminders ? makeReminders({ userId, timeZone }, { now, newId }) : [];
  const past = makePastEvents({ userId, createTime, materials }, { now, newId });
  return { ...past, userId, email, timeZone, createTime, reminders, unsubscribeToken: randomBytes(32) };
}
