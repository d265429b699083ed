// npm run seed: fills a database with realistic learners.
import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { v7 as uuidV7 } from 'uuid';
import { accountsSchema } from '../../accounts/service.ts';
import { createLogger } from '../../platform/logging/logger.ts';
import { migrate } from '../../platform/postgres/migrate.ts';
import { createProgress } from '../../platform/process/progress.ts';
import { schedulingSchema } from '../../scheduling/service.ts';
import { type Learner, writeLearners } from './copy.ts';
import { openEmbedded } from './database.ts';
import { makeMaterial } from './learner.ts';
import { makeReminders } from './reminders.ts';

const HELP = `Creates sample learners with materials and review histories.

  npm run seed -- --users N --materials M [--reviews R] [--yes]

  --users N      number of learners, 1 to 100,000
  --materials M  materials per learner, 1 to 10,000
  --reviews R    average reviews per material, 0 to 100; default 10
  --yes          required with DATABASE_URL, because the command writes there

Without DATABASE_URL it writes to the embedded server of DATA_DIR (default .data), which it starts if necessary.
Where the database has the tables of reminders, half of the learners get some, by e-mail to addresses of example.com.
At the end it prints the e-mail address of one of the learners.
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

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const number = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const { values } = parseArgs({
    options: { users: number, materials: number, reviews: number, yes: flag, help: flag },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const size = {
    users: wholeNumber('--users', values.users, 1, 100_000),
    materials: wholeNumber('--materials', values.materials, 1, 10_000),
    reviews: wholeNumber('--reviews', values.reviews ?? '10', 0, 100),
  };
  const { DATABASE_URL: given, DATA_DIR: dataDir } = process.env;
  if (given && !values.yes) throw new Error('This command writes to DATABASE_URL. Add --yes to confirm.');
  const database = given
    ? { databaseUrl: given, close: async () => {} }
    : await openEmbedded(dataDir || '.data');
  try {
    await seed(database.databaseUrl, size);
  } finally {
    await database.close();
  }
}

async function seed(
  databaseUrl: string,
  { users, materials, reviews }: { users: number; materials: number; reviews: number },
): Promise<void> {
  const logger = createLogger('seed', 'warn');
  for (const schema of [accountsSchema, schedulingSchema]) await migrate({ databaseUrl, ...schema, logger });
  const client = new Client({ connectionString: databaseUrl, application_name: 'seed' });
  await client.connect();
  const withReminders = await hasReminders(client);
  const run = randomBytes(3).toString('hex');
  const progress = createProgress('learners', users);
  const atATime = Math.max(1, Math.floor(REVIEWS_AT_A_TIME / (materials * Math.max(1, reviews))));
  try {
    for (let first = 1; first <= users; first += atATime) {
      const count = Math.min(atATime, users - first + 1);
      const learners = Array.from({ length: count }, (_, index) =>
        makeLearner(`learner${first + index}.${run}@example.com`, { materials, reviews, withReminders }),
      );
      await writeLearners(client, learners);
      progress.advance(count);
    }
    await client.query('ANALYZE');
  } finally {
    progress.end();
    await client.end();
  }
  process.stdout.write(
    `Created ${users.toLocaleString('en')} learners. One of them: learner1.${run}@example.com\n`,
  );
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
  const random = Math.random;
  const newId = (time: Date) =>
    uuidV7({ msecs: time.getTime(), random: randomBytes(16), seq: Math.floor(random() * 2 ** 31) });
  const memoryDays = 0.7 + 2.5 * random();
  const materials = Array.from({ length: materialCount }, () =>
    makeMaterial({ reviewCount, memoryDays, now, random, newId }),
  );
  const createTime = new Date(
    Math.min(now.getTime(), ...materials.map(({ material }) => material.createTime.getTime())),
  );
  const timeZone = TIME_ZONES[Math.floor(random() * TIME_ZONES.length)] ?? 'UTC';
  const userId = newId(createTime);
  const reminders = withReminders ? makeReminders({ userId, timeZone }, { now, random, newId }) : [];
  return { userId, email, timeZone, createTime, materials, reminders, unsubscribeToken: randomBytes(32) };
}

function wholeNumber(name: string, text: string | undefined, min: number, max: number): number {
  const number = /^\d{1,9}$/.test(text ?? '') ? Number(text) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw new Error(`${name} must be a whole number from ${min} to ${max}. See "npm run seed -- --help".`);
}
