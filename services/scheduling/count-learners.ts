// Keeps the statistics of all learners: they are counted again and again, by one process at a time and in order of their IDs.
import { setTimeout as sleep } from 'node:timers/promises';
import { hasReason } from '../platform/errors.ts';
import type { Logger } from '../platform/logging/logger.ts';
import type { Telemetry } from '../platform/observability/telemetry.ts';
import { watchLag } from '../platform/observability/telemetry.ts';
import type { Database, Queryable } from '../platform/postgres/database.ts';
import { isTooSlow } from '../platform/postgres/faults.ts';
import { isSandboxUser, MAX_UUID, NIL_UUID } from '../platform/uuid.ts';
import { readAheadMs } from './clock.ts';
import { addTo, dayOf, daysAsOf, emptySummary, figuresOf, KEPT_DAYS, startOf } from './learners/rules.ts';
import {
  deleteOtherLearners,
  listScheduled,
  lockCount,
  type NewLearner,
  readDue,
  readLearners,
  readOverview,
  readProgress,
  readReviewed,
  type Scheduled,
  storeLearners,
  storeOverview,
  storeProgress,
} from './learners/sql.ts';

/** Users in one transaction. */
const USERS_AT_A_TIME = 500;
/** Nobody waits for it, and all of them may have studied much. */
const STATEMENT_TIMEOUT_MS = 10_000;
/** The wait after each step, as a multiple of its duration: counting takes 1 % of a core. */
const IDLE_FACTOR = 99;
/** The shortest wait between two complete counts. */
const PAUSE_MS = 60_000;
/** While another process counts. */
const BUSY_MS = 1000;
const AFTER_FAILURE_MS = 15_000;
/** The same wait in `countLearners`, whose caller waits for the count. */
const RETRY_MS = 20;

/** `busy`: another process counts; `early`: nothing was done. `waitMs`: after which to call again. */
type Turn = { state: 'busy' | 'early' | 'counted' | 'complete'; waitMs: number };

/**
 * Counts the next 500 users as of `asOf`, unless another process is counting or it is too early. Runs in one
 * transaction, so that these users are counted again after a failure. Replaces the overview once all users are counted.
 * `isPatient`: keeps to 1 % of a core. `isAnew`: discards the count in progress and begins with the first user.
 */
export async function countSomeLearners(
  database: Database,
  asOf: Date,
  { isPatient = true, isAnew = false }: { isPatient?: boolean; isAnew?: boolean } = {},
): Promise<Turn> {
  const beganMs = performance.now();
  const work = async (transaction: Queryable): Promise<Turn> => {
    const lockTime = await lockCount(transaction);
    if (lockTime === undefined) return { state: 'busy', waitMs: BUSY_MS };
    const { progress, nextTime } = await readProgress(transaction);
    const earlyMs = (nextTime?.getTime() ?? 0) - lockTime.getTime();
    if (isPatient && earlyMs > 0) return { state: 'early', waitMs: earlyMs };
    const { beginTime, afterUserId, summary } = (isAnew ? undefined : progress) ?? {
      beginTime: asOf,
      afterUserId: NIL_UUID,
      summary: emptySummary(dayOf(asOf), (await readOverview(transaction))?.summary),
    };
    const { learners, lastUserId } = await countAfter(transaction, afterUserId, asOf);
    for (const learner of learners) addTo(summary, dayOf(beginTime), learner, learner.figures);
    const isComplete = lastUserId === MAX_UUID;
    if (isComplete) await storeOverview(transaction, beginTime, summary);
    const workMs = performance.now() - beganMs;
    const waitMs = Math.ceil(Math.max(IDLE_FACTOR * workMs, isComplete ? PAUSE_MS : 0));
    const next = isComplete ? undefined : { beginTime, afterUserId: lastUserId, summary };
    await storeProgress(transaction, next, new Date(lockTime.getTime() + workMs + waitMs));
    return { state: isComplete ? 'complete' : 'counted', waitMs };
  };
  return database.transaction(work, { statementTimeoutMs: STATEMENT_TIMEOUT_MS });
}

/**
 * Counts the next users, sandbox users as of their own clocks. @returns the learners among them, without sandbox users,
 * and the ID of the last user; MAX_UUID if no user follows.
 */
async function countAfter(
  transaction: Queryable,
  afterUserId: string,
  asOf: Date,
): Promise<{ learners: readonly NewLearner[]; lastUserId: string }> {
  const users = await listScheduled(transaction, afterUserId, { asOf, limit: USERS_AT_A_TIME });
  const [sandboxUsers, realUsers] = [users.filter(isSandbox), users.filter((user) => !isSandbox(user))];
  const learners = await countAsOf(transaction, realUsers, asOf);
  const learnerIds = learners.map(({ userId }) => userId);
  for (const user of sandboxUsers) {
    const ahead = new Date(asOf.getTime() + (await readAheadMs(transaction, user.userId)));
    const counted = { ...user, ...(await readDue(transaction, user.userId, ahead)) };
    for (const { userId } of await countAsOf(transaction, [counted], ahead)) learnerIds.push(userId);
  }
  const lastUserId = users.length < USERS_AT_A_TIME ? MAX_UUID : (users.at(-1)?.userId ?? MAX_UUID);
  await deleteOtherLearners(transaction, { afterUserId, lastUserId }, learnerIds);
  return { learners, lastUserId };
}

const isSandbox = ({ userId }: Scheduled) => isSandboxUser(userId);

/** Stores and returns the learners among the users. */
async function countAsOf(
  transaction: Queryable,
  users: readonly Scheduled[],
  asOf: Date,
): Promise<readonly NewLearner[]> {
  const today = dayOf(asOf);
  const userIds = users.map(({ userId }) => userId);
  const fromTime = startOf(today + 1 - KEPT_DAYS);
  const reviewed = await readReviewed(transaction, userIds, { fromTime, asOf });
  const before = await readLearners(transaction, userIds);
  const learners = users
    .filter(({ userId, active }) => active > 0 || reviewed.has(userId))
    .map(({ userId, due, overdue }): NewLearner => {
      const of = { before: before.get(userId), reviewed: reviewed.get(userId) ?? [], due, overdue };
      const counted = { countedDay: today, days: daysAsOf(today, of) };
      return { ...counted, userId, figures: figuresOf(counted) };
    });
  if (learners.length > 0) await storeLearners(transaction, learners, asOf);
  return learners;
}

/** Counts all learners from the first, as of `asOf`, without waits between the steps. */
export async function countLearners(database: Database, asOf: Date): Promise<void> {
  for (let isAnew = true; ; ) {
    const { state } = await countSomeLearners(database, asOf, { isPatient: false, isAnew });
    if (state === 'complete') return;
    if (state === 'busy') await sleep(RETRY_MS);
    else isAnew = false;
  }
}

/** Waits longer after a statement time-out: the statement ran for the whole time, and may do so again. */
export const waitAfterFailureMs = (error: unknown): number =>
  isTooSlow(error) ? IDLE_FACTOR * STATEMENT_TIMEOUT_MS : AFTER_FAILURE_MS;

/** Counts repeatedly, starting now. @returns a function that stops it. */
export function countRegularly(
  database: Database,
  { now, logger, telemetry }: { now: () => Date; logger: Logger; telemetry: Telemetry },
): () => void {
  const stopping = new AbortController();
  const { signal } = stopping;
  const markDone = watchLag(telemetry, 'count-learners', PAUSE_MS);
  let hasFailed = false;
  const count = async () => {
    while (!signal.aborted) {
      const waitMs = await countSomeLearners(database, now()).then(
        (turn) => {
          markDone();
          hasFailed = false;
          // At least once a minute, so that the lag metric shows that counting goes on.
          return Math.min(turn.waitMs, PAUSE_MS);
        },
        (error: unknown) => {
          // While a process starts, its first connections may time out.
          const isBrief = !hasFailed && hasReason(error, 'UNAVAILABLE') && !isTooSlow(error);
          if (!signal.aborted && !isBrief) logger.warn({ err: error }, 'could not count the learners');
          hasFailed = true;
          return waitAfterFailureMs(error);
        },
      );
      await sleep(waitMs, undefined, { signal, ref: false }).catch(() => {});
    }
  };
  void count();
  return () => stopping.abort();
}
