// Keeps the statistics of all learners: every four minutes one of the processes counts those who changed.
import type { Logger } from '../platform/logging/logger.ts';
import type { Telemetry } from '../platform/observability/telemetry.ts';
import { watchLag } from '../platform/observability/telemetry.ts';
import { partsOf } from '../platform/parts.ts';
import type { Database, Queryable } from '../platform/postgres/database.ts';
import { NIL_UUID } from '../platform/uuid.ts';
import { type Counted, daysAsOf, figuresOf, KEPT_DAYS } from './learners/learner-days.ts';
import { addTo, dayOf, emptySummary, noteDue, startOf, summaryAsOf } from './learners/overview.ts';
import {
  deleteAhead,
  deleteLearners,
  listChanged,
  listCounted,
  listOfEarlierDays,
  listUsers,
  lockCount,
  type NewLearner,
  readLearners,
  readOverview,
  readReviewed,
  readSchedules,
  storeLearners,
  storeOverview,
  takeMarks,
} from './learners/recount-repository.ts';

const COUNT_EVERY_MS = 240_000;
/** How often a process looks whether a count is due. */
const LOOK_EVERY_MS = 15_000;
/** A write can become visible this long after its time. Statements and calls end much sooner. */
const LATE_MS = 20_000;
/**
 * A latest count that is further ahead, of the database's clock as well as ours, was made by a wrong clock: waiting for it would keep
 * the overview as it is until then. Where it is ahead of ours alone, ours is wrong, and the count stays.
 */
const AHEAD_MS = 86_400_000;
/** Users in one statement, so that it takes far less than its time-out. */
const USERS_AT_A_TIME = 500;
/** Of the statements over all learners, of whom there may be a million. */
const STATEMENT_TIMEOUT_MS = 5000;

/**
 * Counts as of `asOf`, unless another process is counting or the latest count is younger than `minAgeMs`. One transaction: readers
 * see the count before until this one is complete. `signal`: when it is aborted, nothing is stored.
 * @returns whether it counted.
 */
export function countLearners(
  database: Database,
  asOf: Date,
  minAgeMs: number,
  signal?: AbortSignal,
): Promise<boolean> {
  const countAll = async (transaction: Queryable) => {
    if (!(await lockCount(transaction))) return false;
    const latest = await readOverview(transaction);
    const isAhead =
      latest !== undefined &&
      [asOf, latest.readTime].every((time) => latest.asOfTime.getTime() > time.getTime() + AHEAD_MS);
    const earlier = isAhead ? undefined : latest;
    if (earlier !== undefined && asOf.getTime() - earlier.asOfTime.getTime() < minAgeMs) return false;
    if (isAhead) await deleteAhead(transaction, asOf);
    const today = dayOf(asOf);
    const firstDay = today + 1 - KEPT_DAYS;
    const { changed, whole, isUserDeleted } = await takeMarks(transaction);
    // It changes by the figures of those who are counted again.
    let summary =
      earlier === undefined ? emptySummary(today, latest?.summary) : summaryAsOf(today, earlier.summary);
    const count = async (userIds: Iterable<string>, fromDay: number) => {
      for (const some of partsOf([...userIds], USERS_AT_A_TIME)) {
        signal?.throwIfAborted();
        const { before, after } = await countUsers(transaction, some, { asOf, fromDay });
        for (const learner of before)
          addTo(summary, today, { learner, figures: figuresOf(learner), times: -1 });
        for (const learner of after) addTo(summary, today, { learner, figures: learner.figures, times: 1 });
      }
    };
    if (earlier === undefined) {
      for await (const some of allUsers(transaction)) await count(some, firstDay);
    } else {
      const since = new Date(earlier.asOfTime.getTime() - LATE_MS);
      const ofToday =
        dayOf(earlier.asOfTime) < today ? await listOfEarlierDays(transaction, startOf(today)) : [];
      const all = [...changed, ...(await listChanged(transaction, since, asOf)), ...ofToday];
      await count(new Set(all), Math.min(dayOf(since), today - 1));
      await count(new Set(whole), firstDay);
    }
    if (earlier === undefined || isUserDeleted) {
      summary = emptySummary(today, summary);
      for await (const learner of allLearners(transaction))
        addTo(summary, today, { learner, figures: figuresOf(learner), times: 1 });
    }
    await storeOverview(transaction, asOf, noteDue(summary));
    return true;
  };
  return database.transaction(countAll, { statementTimeoutMs: STATEMENT_TIMEOUT_MS });
}

/** Counts users as of `asOf`: their reviews from `fromDay` on, and what is due. Idempotent. @returns those who are learners. */
async function countUsers(
  transaction: Queryable,
  userIds: readonly string[],
  { asOf, fromDay }: { asOf: Date; fromDay: number },
): Promise<{ before: Iterable<Counted>; after: readonly NewLearner[] }> {
  const today = dayOf(asOf);
  const before = await readLearners(transaction, userIds);
  const reviewed = await readReviewed(transaction, userIds, { fromTime: startOf(fromDay), asOf });
  const schedules = await readSchedules(transaction, userIds, asOf);
  const after = userIds.map((userId): NewLearner => {
    const { due, nextDueTime } = schedules.get(userId) ?? { due: 0, nextDueTime: null };
    const of = { before: before.get(userId), fromDay, reviewed: reviewed.get(userId) ?? [], due };
    const learner = { countedDay: today, days: daysAsOf(today, of) };
    return { ...learner, userId, nextDueTime, figures: figuresOf(learner) };
  });
  const isLearner = ({ userId, figures }: NewLearner) =>
    schedules.has(userId) || figures.lastReviewDay !== null;
  const [learners, others] = [after.filter(isLearner), after.filter((one) => !isLearner(one))];
  if (learners.length > 0) await storeLearners(transaction, learners, asOf);
  const gone = others.map(({ userId }) => userId).filter((userId) => before.has(userId));
  if (gone.length > 0) await deleteLearners(transaction, gone);
  return { before: before.values(), after: learners };
}

async function* allUsers(transaction: Queryable) {
  for (let after = NIL_UUID; ; ) {
    const userIds = await listUsers(transaction, after, USERS_AT_A_TIME);
    yield userIds;
    const last = userIds.at(-1);
    if (last === undefined) return;
    after = last;
  }
}

async function* allLearners(transaction: Queryable) {
  for (let after = NIL_UUID; ; ) {
    const learners = await listCounted(transaction, after, USERS_AT_A_TIME);
    yield* learners.values();
    const last = [...learners.keys()].at(-1);
    if (last === undefined) return;
    after = last;
  }
}

/** Counts now and regularly. @returns a function that stops it, and a count in progress. */
export function countRegularly(
  database: Database,
  { now, logger, telemetry }: { now: () => Date; logger: Logger; telemetry: Telemetry },
): () => void {
  const stopping = new AbortController();
  const { signal } = stopping;
  const noteDone = watchLag(telemetry, 'count-learners', COUNT_EVERY_MS);
  let isBusy = false;
  const count = async () => {
    if (isBusy) return;
    isBusy = true;
    try {
      await countLearners(database, now(), COUNT_EVERY_MS, signal);
      noteDone();
    } catch (error) {
      if (!signal.aborted) logger.warn({ err: error }, 'could not count the learners');
    } finally {
      isBusy = false;
    }
  };
  void count();
  const timer = setInterval(() => void count(), LOOK_EVERY_MS).unref();
  return () => {
    clearInterval(timer);
    stopping.abort();
  };
}
