// Keeps the statistics of all learners: every four minutes one of the processes counts those who changed.
import type { Logger } from '../platform/logging/logger.ts';
import { watchLag } from '../platform/observability/schedule-lag.ts';
import type { Telemetry } from '../platform/observability/telemetry.ts';
import { partsOf } from '../platform/parts.ts';
import type { Database, Queryable } from '../platform/postgres/database.ts';
import { NIL_UUID } from '../platform/uuid.ts';
import { KEPT_DAYS, recounted, startOf, summarize, totalsOf, utcDay } from './learners/overview.ts';
import {
  countUsers,
  deleteAhead,
  deleteDays,
  listChanged,
  listOfEarlierDays,
  listUsers,
  lockCount,
  readOverview,
  storeOverview,
  takeMarks,
} from './learners/recount-repository.ts';
import { readTotals } from './learners/totals-repository.ts';
import { EVERYONE, type NodeGate } from './nodes/node-gate.ts';

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
    const today = utcDay(asOf);
    const firstDay = utcDay(asOf, 1 - KEPT_DAYS);
    const { changed, whole, isUserDeleted } = await takeMarks(transaction);
    // The totals change by the figures of those who are counted again.
    let totals = earlier === undefined || isUserDeleted ? undefined : totalsOf(earlier.summary);
    const count = async (userIds: Iterable<string>, fromDay: string, isWhole: boolean) => {
      const of = { asOf, today, fromTime: startOf(fromDay), isWhole };
      for (const some of partsOf([...userIds], USERS_AT_A_TIME)) {
        signal?.throwIfAborted();
        const before = totals && (await readTotals(transaction, fromDay, some));
        await countUsers(transaction, some, of);
        if (totals && before)
          totals = recounted(totals, before, await readTotals(transaction, fromDay, some));
      }
    };
    if (earlier === undefined) {
      for await (const some of allUsers(transaction)) await count(some, firstDay, true);
    } else {
      const since = new Date(earlier.asOfTime.getTime() - LATE_MS);
      const ofToday = utcDay(earlier.asOfTime) < today ? await listOfEarlierDays(transaction, today) : [];
      const all = [...changed, ...(await listChanged(transaction, since, asOf)), ...ofToday];
      await count(new Set(all), recentFrom(since, asOf), false);
      await count(new Set(whole), firstDay, true);
    }
    await deleteDays(transaction, utcDay(asOf, -KEPT_DAYS), today);
    if (isAhead) await deleteAhead(transaction, asOf);
    totals ??= await readTotals(transaction, firstDay);
    const summary = summarize(asOf, totals, latest?.summary);
    await storeOverview(transaction, asOf, summary);
    return true;
  };
  return database.transaction(countAll, { statementTimeoutMs: STATEMENT_TIMEOUT_MS });
}

/** Yesterday, or the day of `since` where that is earlier. */
function recentFrom(since: Date, asOf: Date): string {
  const [day, yesterday] = [utcDay(since), utcDay(asOf, -1)];
  return day < yesterday ? day : yesterday;
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

/** Counts now and regularly. @returns a function that stops it, and a count in progress. */
export function countRegularly(
  database: Database,
  { gate, now, logger, telemetry }: { gate: NodeGate; now: () => Date; logger: Logger; telemetry: Telemetry },
): () => void {
  const stopping = new AbortController();
  const { signal } = stopping;
  const noteDone = watchLag(telemetry, 'count-learners', COUNT_EVERY_MS);
  let isBusy = false;
  const count = async () => {
    if (isBusy) return;
    isBusy = true;
    try {
      await gate(EVERYONE, () => countLearners(database, now(), COUNT_EVERY_MS, signal));
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
