// npm run seed: fills a database with realistic learners.
import { randomBytes } from 'node:crypto';
import { accountsSchema } from '../../accounts/service.ts';
import { createLogger } from '../../platform/logging/logger.ts';
import { withConnection } from '../../platform/postgres/connection.ts';
import { type Database, openDatabase } from '../../platform/postgres/database.ts';
import { migrate } from '../../platform/postgres/migrate.ts';
import {
  counted,
  runCommand,
  secondsSince,
  UsageError,
  wholeNumber,
} from '../../platform/process/command.ts';
import { createProgress } from '../../platform/process/terminal.ts';
import { newUuid } from '../../platform/uuid.ts';
import type { EmailOffReason } from '../../reminders/channels/sql.ts';
import { remindersSchema } from '../../reminders/service.ts';
import { countLearners } from '../../scheduling/count-learners.ts';
import { readOverview } from '../../scheduling/learners/sql.ts';
import { schedulingSchema } from '../../scheduling/service.ts';
import { givenDatabase, openProgramDatabase } from '../program-database.ts';
import { makeKeys, makeRequests } from './keys.ts';
import { drawHabit, historyFor, type Kind, makeMaterial, makePastEvents, reviewedWith } from './learner.ts';
import { makeReminders } from './reminders.ts';
import { liveMonth, makeSandboxLearner } from './sandbox.ts';
import { newName } from './texts.ts';
import { type Learner, writeLearner } from './write.ts';

const HELP = `Creates sample learners with materials, review histories and timelines.

  npm run seed [-- --users N --materials M --reviews R --yes]

  --users N      number of learners, 1 to 100,000; default 20
  --materials M  materials per learner, 1 to 10,000; default 200
  --reviews R    average reviews per material, 0 to 100; default 10
  --yes          required with DATABASE_URL, because the command writes there

Without DATABASE_URL it writes to the embedded server of DATA_DIR (default .data), which it starts if necessary.
Most learners have API keys, which nobody can use. Half of the learners have reminders, by e-mail to addresses of example.com,
with deliveries of the last 30 days. One learner has gone quiet, one has a backlog.
One more is a sandbox user with 30 days of history, made by moving their clock as "npm run clock" does.
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
type LearnerSize = { materials: number; reviews: number };

/** The first learners have one of each kind; the others are random. */
const KINDS: readonly Kind[] = ['steady', 'quiet', 'behind'];
const EMAIL_OFF: readonly (EmailOffReason | null)[] = [null, null, null, 'unsubscribed', 'refused'];
const STEADY = 0.85;
const EMAIL_ON = 0.92;
const DAY_MS = 86_400_000;

const text = { type: 'string' } as const;
const options = { users: text, materials: text, reviews: text, yes: { type: 'boolean' } } as const;

await runCommand({ name: 'npm run seed', help: HELP, options }, async (values) => {
  const size = {
    users: wholeNumber('--users', values.users ?? '20', 1, 100_000),
    materials: wholeNumber('--materials', values.materials ?? '200', 1, 10_000),
    reviews: wholeNumber('--reviews', values.reviews ?? '10', 0, 100),
  };
  const given = givenDatabase(process.env);
  if (given !== undefined && !values.yes)
    throw new UsageError(`This command writes to ${given.place}. Add --yes to confirm.`);
  const beganMs = performance.now();
  const { databaseUrl, place, close } = await openProgramDatabase(process.env);
  try {
    const connection = { connectionString: databaseUrl, application_name: 'seed' };
    const logger = createLogger('seed', 'warn');
    for (const schema of [accountsSchema, schedulingSchema, remindersSchema])
      await migrate({ databaseUrl, variable: given?.place, ...schema, logger });
    const database = openDatabase({
      databaseUrl,
      applicationName: 'seed',
      maxConnections: 1,
      isPatient: true,
      logger,
    });
    try {
      const made = await seed(database, size);
      await withConnection(connection, (client) => client.query('ANALYZE'));
      // The dashboard's home shows the new learners at once. As if they had been counted a week ago, so that it shows whose backlog
      // has grown; not beside others, whose count it would replace.
      const isFirst = ((await readOverview(database))?.summary.learners ?? 0) === 0;
      if (isFirst) await countLearners(database, new Date(Date.now() - 7 * DAY_MS));
      await liveMonth(made.sandbox, databaseUrl, logger);
      await countLearners(database, new Date());
      const counts = `${counted(size.users, 'learner')}, ${counted(size.users * size.materials, 'material')} and ${counted(made.reviews, 'review')}`;
      process.stdout.write(
        `Created ${counts} in ${place}, in ${secondsSince(beganMs)}.\n` +
          `Look at one of them in the dashboard: ${made.email}\n` +
          `One more has a clock of their own, which was moved by a month: ${made.sandbox.user.email}\n`,
      );
    } finally {
      await database.close();
    }
  } finally {
    await close();
  }
});

/** @returns the address of one of the learners, how many reviews all of them have, and one more to test with, who has none. */
async function seed(
  database: Database,
  { users, ...size }: LearnerSize & { users: number },
): Promise<{ email: string; reviews: number; sandbox: Learner }> {
  const run = randomBytes(3).toString('hex');
  const emailOf = (index: number) => `learner${index + 1}.${run}@example.com`;
  let reviews = 0;
  const progress = createProgress('learners', users);
  const sandbox = makeSandboxLearner(`sandbox.${run}@example.com`);
  try {
    for (let index = 0; index < users; index += 1) {
      const learner = makeLearner(emailOf(index), index, size);
      await writeLearner(database, learner);
      reviews += learner.materials.reduce((sum, material) => sum + material.reviews.length, 0);
      progress.advance(1);
    }
    await writeLearner(database, sandbox);
  } finally {
    progress.end();
  }
  return { email: emailOf(0), reviews, sandbox };
}

/** `index`: from 0. The first is the one to look at: steady, with keys, labels, an active reminder and deliveries. */
function makeLearner(
  email: string,
  index: number,
  { materials: materialCount, reviews: reviewCount }: LearnerSize,
): Learner {
  const now = new Date();
  const isShown = index === 0;
  const kind =
    KINDS[index] ??
    (Math.random() < STEADY ? 'steady' : (KINDS[1 + Math.floor(2 * Math.random())] ?? 'quiet'));
  const { days, longestWaitDays } = historyFor(reviewCount);
  const habit = drawHabit({ nowMs: now.getTime(), days, longestWaitDays, isStudying: reviewCount > 0, kind });
  const materials = Array.from({ length: materialCount }, () =>
    makeMaterial({ habit, startDay: days * Math.random(), isLabelled: isShown }),
  );
  const createTime = new Date(
    Math.min(now.getTime(), ...materials.map(({ material }) => material.createTime.getTime())),
  );
  const timeZone = TIME_ZONES[Math.floor(Math.random() * TIME_ZONES.length)] ?? 'UTC';
  const userId = newUuid(createTime);
  const reviewTimes = materials.flatMap(({ material }) => material.lastReviewedTime?.getTime() ?? []);
  const lastUsedTime = reviewTimes.length > 0 ? new Date(Math.max(...reviewTimes)) : null;
  const { keys, events } = makeKeys({ userId, createTime, lastUsedTime }, { now, isShown });
  // Of the one to look at, an operator has snoozed a material.
  const apiKeyId = isShown ? null : (keys[0]?.apiKeyId ?? null);
  const reviewed = keys[0] === undefined ? materials : reviewedWith(keys[0], materials);
  const past = makePastEvents({ userId, createTime, materials: reviewed, apiKeyId }, now);
  const reason = index in EMAIL_OFF ? EMAIL_OFF[index] : Math.random() < EMAIL_ON ? null : 'unsubscribed';
  const time = new Date(now.getTime() - Math.floor((0.1 + 5 * Math.random()) * DAY_MS));
  const plan = Math.random() < 0.25 ? 'premium' : 'free';
  return {
    user: { userId, email, ...newName(), plan, timeZone, createTime, updateTime: createTime },
    ...past,
    userEvents: [...past.userEvents, ...events],
    ...makeReminders({ userId, timeZone, isShown }, now),
    keys,
    requests: makeRequests(keys, materials, now),
    unsubscribeToken: randomBytes(32),
    emailOff: reason ? { reason, time } : null,
  };
}
