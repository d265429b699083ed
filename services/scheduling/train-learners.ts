// Each night, scores how well each scheduler predicts a learner's recall, and trains FSRS on the learner's reviews.
import { type ChildProcess, fork } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { hasReason } from '../platform/errors.ts';
import type { Logger } from '../platform/logging/logger.ts';
import { type Telemetry, watchLag } from '../platform/observability/telemetry.ts';
import type { Database } from '../platform/postgres/database.ts';
import { isSandboxUser, NIL_UUID } from '../platform/uuid.ts';
import { findSettings } from './learners/sql.ts';
import {
  countBest,
  countReviews,
  listCandidates,
  lockRound,
  readRound,
  storeBest,
  storePrediction,
  storeRound,
} from './learners/training-sql.ts';
import { type DayOf, localDays } from './reviews/local-days.ts';
import { findTraining, lockLearner } from './rows.ts';
import { type History, MIN_REVIEWS, predict, type Training } from './statistics/prediction.ts';
import { readGradedHistories } from './statistics/sql.ts';
import { hasGrown, trainingSet } from './statistics/training.ts';
import type { Trainer } from './trainer.ts';

/** When a round begins, UTC. */
const NIGHT_HOUR = 2;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** How long a process keeps its round after the last learner it began; longer than any learner takes. */
const LEASE_MS = 600_000;
const LEARNERS_AT_A_TIME = 100;
/** Of statements that read all reviews of a learner, or all learners. */
const PATIENT = { statementTimeoutMs: 10_000 };
/** After every review, also of a user whose clock is ahead. */
const END_OF_TIME = new Date('9999-12-31T00:00:00Z');

/**
 * Runs a round through all learners, or resumes one that a process left unfinished, unless it is too early or another
 * process runs it. After each step it waits as long as the step took: half a core. `isPatient` false: begins a round at
 * once, and does not wait. `trainer` undefined: learners are only scored. @returns how many learners were scored;
 * undefined if no round was due.
 */
export async function trainLearners(
  database: Database,
  { trainer, isPatient = true }: { trainer: Trainer | undefined; isPatient?: boolean },
): Promise<number | undefined> {
  const round = await claimRound(database, isPatient);
  if (round === undefined) return undefined;
  const { afterUserId, now } = round;
  const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
    const beganMs = performance.now();
    const result = await work();
    if (isPatient) await sleep(performance.now() - beganMs);
    return result;
  };
  let scored = 0;
  for (let after: string | undefined = afterUserId; after !== undefined; ) {
    const next = await inTurn(() => nextLearners(database, after ?? NIL_UUID));
    for (const userId of next.due) {
      // Stored first, so that after a crash on this learner the round resumes with the next one.
      await storeRound(database, { afterUserId: userId, nextTime: new Date(now().getTime() + LEASE_MS) });
      await inTurn(() => trainLearner(database, userId, { trainer, now }));
      scored += 1;
    }
    after = next.lastUserId;
  }
  const best = await database.transaction((transaction) => countBest(transaction, MIN_REVIEWS), PATIENT);
  await storeBest(database, now(), best);
  await storeRound(database, { afterUserId: null, nextTime: nextNight(now()) });
  return scored;
}

/** `now`: the time of the database, which all processes share. */
async function claimRound(
  database: Database,
  isPatient: boolean,
): Promise<{ afterUserId: string; now: () => Date } | undefined> {
  return database.transaction(async (transaction) => {
    const round = await lockRound(transaction);
    if (round === undefined || (isPatient && round.nextTime > round.time)) return undefined;
    const { time, afterUserId } = round;
    const beganMs = performance.now();
    const now = () => new Date(time.getTime() + performance.now() - beganMs);
    const after = isPatient ? afterUserId : null;
    await storeRound(transaction, { afterUserId: after, nextTime: new Date(time.getTime() + LEASE_MS) });
    return { afterUserId: after ?? NIL_UUID, now };
  });
}

/** The next learners that are due for scoring, and the last ID that was looked at; undefined if no learner follows. */
async function nextLearners(database: Database, afterUserId: string) {
  return database.transaction(async (transaction) => {
    const candidates = await listCandidates(transaction, afterUserId, LEARNERS_AT_A_TIME);
    const counts = await countReviews(
      transaction,
      candidates.map(({ userId }) => userId),
    );
    const due = candidates.filter(({ userId, before }) => {
      const reviews = counts.get(userId) ?? 0;
      return reviews >= MIN_REVIEWS && hasGrown(reviews, before) && !isSandboxUser(userId);
    });
    const lastUserId = candidates.length < LEARNERS_AT_A_TIME ? undefined : candidates.at(-1)?.userId;
    return { due: due.map(({ userId }) => userId), lastUserId };
  }, PATIENT);
}

async function trainLearner(
  database: Database,
  userId: string,
  { trainer, now }: { trainer: Trainer | undefined; now: () => Date },
): Promise<void> {
  const { timeZone } = await findSettings(database, userId);
  const dayOf = localDays(timeZone);
  const all = { asOf: END_OF_TIME, materialIds: null };
  const histories = await database.transaction(
    (transaction) => readGradedHistories(transaction, userId, all),
    PATIENT,
  );
  // Without a trainer, what an earlier round trained is kept.
  const training = await (trainer === undefined
    ? findTraining(database, userId)
    : train(histories, dayOf, trainer));
  const { reviews: scoredReviews, best } = predict(histories, {
    dayOf,
    today: dayOf(now().getTime()),
    training,
  });
  const reviews = histories.reduce((sum, history) => sum + history.reviews.length, 0);
  const found = { reviews, scoreTime: now(), scoredReviews, best, training };
  await database.transaction(async (transaction) => {
    if (await lockLearner(transaction, userId)) await storePrediction(transaction, userId, found);
  });
}

/** null where there are too few reviews. */
async function train(
  histories: readonly History[],
  dayOf: DayOf,
  trainer: Trainer,
): Promise<Training | null> {
  const set = trainingSet(histories, dayOf);
  if (set === null) return null;
  const { materials, ...of } = set;
  return { ...of, parameters: await trainer(materials) };
}

/** The next NIGHT_HOUR after `time`. */
function nextNight(time: Date): Date {
  const today = Math.floor(time.getTime() / DAY_MS) * DAY_MS + NIGHT_HOUR * HOUR_MS;
  return new Date(today > time.getTime() ? today : today + DAY_MS);
}

/** How often a process checks whether a round is due. */
const CHECK_MS = 60_000;
export const TRAIN_PROGRAM = fileURLToPath(new URL('./train-process.ts', import.meta.url));
/** Of the program's heap: a limit, for the learner with the most reviews. */
export const TRAIN_OPTIONS = ['--max-old-space-size=512', '--max-semi-space-size=4'];

/**
 * Runs the nightly round in a child process: the trainer is native code, which can be stopped at any moment only by
 * killing its process. @returns a function that stops it at once.
 */
export function trainRegularly(
  database: Database,
  databaseUrl: string,
  { logger, telemetry }: { logger: Logger; telemetry: Telemetry },
): () => void {
  const markDone = watchLag(telemetry, 'train-learners', CHECK_MS);
  const warn = (fault: object) => void (isStopped || logger.warn(fault, 'could not train the learners'));
  let isStopped = false;
  let child: ChildProcess | undefined;
  const start = () => {
    child = fork(TRAIN_PROGRAM, {
      execArgv: TRAIN_OPTIONS,
      env: { ...process.env, DATABASE_URL: databaseUrl },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      // Ctrl-C in a terminal must reach this process only, which then kills the child.
      detached: true,
    });
    let stderr = '';
    child.stderr?.on('data', (text) => {
      stderr = `${stderr}${text}`.slice(-MAX_STDERR_CHARACTERS);
    });
    child.on('error', (error) => warn({ err: error }));
    child.on('close', (code, signal) => {
      child = undefined;
      if (code !== 0) warn({ reason: stderr || `ended by ${signal ?? code}` });
    });
  };
  const check = async () => {
    try {
      const round = await readRound(database);
      if (round !== undefined && round.nextTime <= round.time && child === undefined && !isStopped) start();
      markDone();
    } catch (error) {
      // While a process starts, its first connections may time out.
      if (!hasReason(error, 'UNAVAILABLE')) warn({ err: error });
    }
  };
  void check();
  const timer = setInterval(() => void check(), CHECK_MS).unref();
  return () => {
    isStopped = true;
    clearInterval(timer);
    child?.kill('SIGKILL');
  };
}

/** The log shows the end of what the child wrote to stderr. */
const MAX_STDERR_CHARACTERS = 2000;
