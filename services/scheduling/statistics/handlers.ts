// The rpcs of scheduling.v1.StatsService: the learning of one user, and due counts of many.
import { setTimeout as sleep } from 'node:timers/promises';
import type { DayCountInput } from '../../../generated/scheduling/v1/DayCount.ts';
import type { GetPredictionResponseInput } from '../../../generated/scheduling/v1/GetPredictionResponse.ts';
import type { IntervalBand } from '../../../generated/scheduling/v1/IntervalBand.ts';
import type { RetentionCountInput } from '../../../generated/scheduling/v1/RetentionCount.ts';
import type { StatsServiceHandlers } from '../../../generated/scheduling/v1/StatsService.ts';
import type { StatsWindow } from '../../../generated/scheduling/v1/StatsWindow.ts';
import { atMost, createFairQueue } from '../../platform/concurrency.ts';
import { invalidField } from '../../platform/errors.ts';
import type { AsyncHandlers, CallContext } from '../../platform/grpc/handlers.ts';
import { fromTimestamp, type Timestamp, toOptionalTimestamp } from '../../platform/instants.ts';
import { readLabels } from '../../platform/labels.ts';
import { decodePageToken, readPageSize, toPage } from '../../platform/page-token.ts';
import { partsOf } from '../../platform/parts.ts';
import { isTooSlow } from '../../platform/postgres/faults.ts';
import { requireTimeZone } from '../../platform/time-zone.ts';
import { isSandboxUser, isUuid, readUuid, requireUserId } from '../../platform/uuid.ts';
import type { Background } from '../background.ts';
import { readMaterialView, toMaterialMessage, toPredictorMessage } from '../messages.ts';
import { type HandlerDependencies, readMaterialIds } from '../requests.ts';
import { localDays } from '../reviews/local-days.ts';
import { QUALITIES } from '../reviews/sm2.ts';
import { findTraining } from '../rows.ts';
import { type CalendarDays, lastDays, nextDays } from './calendar.ts';
import { type Prediction, predictInSteps, recallOf, type Training } from './prediction.ts';
import {
  BANDS,
  type Band,
  type Distributions,
  type DueCount,
  type DueCountRequest,
  listHardestMaterials,
  type RecallCount,
  readActivity,
  readDistributions,
  readDueCounts,
  readForecast,
  readGradedHistories,
  readLabelledDueCount,
  readRetention,
} from './sql.ts';

/** Statistics read at once: each may read all reviews of a user, and reviews and lists need the CPU as well. */
const AT_ONCE = 3;

/** Statements at once, of the connections that also serve the requests of people. */
const DUE_COUNTS_AT_ONCE = 2;
/** Users of a statement. Their worst case, 1,000 due each in pages that were just written, stays within its time-out. */
const USERS_AT_A_TIME = 100;

const DEFAULT_DAYS = 30;
const MAX_DAYS = 366;
const DEFAULT_MIN_REVIEWS = 3;
const MAX_MIN_REVIEWS = 1000;
const MAX_USERS = 500;
/** Room for a year of days on either side within the years that a date can say. */
const EARLIEST_MS = Date.UTC(1970, 0, 1);
const LATEST_MS = Date.UTC(9998, 0, 1);

export function createStatsHandlers({
  database,
  background,
  now,
  wallClock,
  isDistributed,
}: HandlerDependencies & { background: Background }): AsyncHandlers<StatsServiceHandlers> {
  const queue = createFairQueue(AT_ONCE);
  const limit = atMost(DUE_COUNTS_AT_ONCE);
  /** The handler of the rpc `name`. */
  const statistic =
    <T>(
      name: string,
      toDays: typeof lastDays,
      read: (userId: string, asOf: Date, days: CalendarDays) => Promise<T>,
    ) =>
    async (request: { userId: string; window: StatsWindow | null }, { signal }: CallContext): Promise<T> => {
      const userId = requireUserId(request.userId);
      const window = readWindow(request.window);
      const asOf = window.asOf ?? (await now(userId));
      const days = toDays(asOf, window.days, window.timeZone);
      return queue.run(`${name} ${userId}`, signal, () => read(userId, asOf, days));
    };
  return {
    GetForecast: statistic('GetForecast', nextDays, async (userId, asOf, days) => {
      const { overdue, dueNow, byDate } = await readForecast(database, userId, asOf, days);
      return { overdue, dueNow, days: toDayCounts(days.dates, byDate) };
    }),
    GetActivity: statistic('GetActivity', lastDays, async (userId, asOf, days) => {
      const { byDate, ...streaks } = await readActivity(database, userId, asOf, days);
      return { days: toDayCounts(days.dates, byDate), ...streaks };
    }),
    GetRetention: statistic('GetRetention', lastDays, async (userId, asOf, days) =>
      toRetentionMessage(days.dates, await readRetention(database, userId, asOf, days)),
    ),
    GetDistributions: statistic('GetDistributions', lastDays, async (userId, asOf, days) =>
      toDistributionsMessage(await readDistributions(database, userId, asOf, days)),
    ),

    async ListHardestMaterials(request, { signal }) {
      const userId = requireUserId(request.userId);
      const window = readWindow(request.window);
      const minReviews = readMinReviews(request.minReviews);
      const pageSize = readPageSize(request.pageSize);
      const { timeZone, days: dayCount } = window;
      const bound = ['ListHardestMaterials', userId, timeZone, window.asOf, dayCount, minReviews];
      // The token contains "now", so that all pages count the same reviews.
      const position = decodePageToken(request.pageToken, bound, ['instant', 'count', 'count']);
      const [asOfMs, recalled, reviews] = position?.keys ?? [];
      const asOf = typeof asOfMs === 'number' ? new Date(asOfMs) : (window.asOf ?? (await now(userId)));
      const days = lastDays(asOf, dayCount, timeZone);
      const after = position && { recalled: recalled ?? 0, reviews: reviews ?? 0, materialId: position.id };
      const withTexts = readMaterialView(request.view) === 'full';
      const page = { limit: pageSize + 1, withTexts, after };
      const rows = await queue.run(`ListHardestMaterials ${userId}`, signal, () =>
        listHardestMaterials(database, userId, { asOf, days, minReviews }, page),
      );
      const { page: materials, nextPageToken } = toPage(rows, pageSize, bound, (row) => ({
        keys: [asOf.getTime(), row.recalled, row.reviews],
        id: row.material.materialId,
      }));
      return {
        materials: materials.map((row) => ({
          material: toMaterialMessage(row.material),
          count: toRetentionCount([row]),
        })),
        nextPageToken,
      };
    },

    async GetPrediction(request, { signal }) {
      const userId = requireUserId(request.userId);
      const dayOf = localDays(requireTimeZone('time_zone', request.timeZone));
      const asOf = readAsOf('as_of_time', request.asOfTime) ?? (await now(userId));
      const compute = async () => {
        const [histories, training] = await Promise.all([
          readGradedHistories(database, userId, { asOf, materialIds: null }),
          findTraining(database, userId),
        ]);
        const prediction = await inTurns(
          predictInSteps(histories, { dayOf, today: dayOf(asOf.getTime()), training }),
        );
        return toPredictionMessage(prediction, training);
      };
      return background.run(userId, signal, compute);
    },

    async BatchGetRecall(request) {
      const userId = requireUserId(request.userId);
      const dayOf = localDays(requireTimeZone('time_zone', request.timeZone));
      const asOf = readAsOf('at_time', request.atTime) ?? (await now(userId));
      const materialIds = readMaterialIds(request.materialIds).filter(isUuid);
      const [histories, training] = await Promise.all([
        readGradedHistories(database, userId, { asOf, materialIds }),
        findTraining(database, userId),
      ]);
      const recalls = histories.flatMap(({ materialId, reviews }) => {
        const recall = recallOf(reviews, { dayOf, day: dayOf(asOf.getTime()), training });
        return recall === null ? [] : [{ materialId, recall }];
      });
      return { recalls };
    },

    async BatchGetDueCounts({ userIds, timeZones, asOfTime, labelFilters }) {
      const users = readZonesOfUsers(userIds, timeZones);
      const labelsOf = readLabelsOfUsers(users, labelFilters);
      const given = readAsOf('as_of_time', asOfTime);
      const asOf = given ?? wallClock();
      const startOf = new Map<string, Date>();
      for (const zone of new Set(timeZones)) startOf.set(zone, lastDays(asOf, 1, zone).todayStartTime);
      const asked: DueCountRequest[] = [];
      for (const { userId, timeZone } of users) {
        const ahead = given === undefined && isSandboxUser(userId) ? await now(userId) : undefined;
        const todayStartTime = ahead ? lastDays(ahead, 1, timeZone).todayStartTime : startOf.get(timeZone);
        asked.push({ userId, asOf: ahead ?? asOf, todayStartTime: todayStartTime ?? asOf });
      }
      const read = async (part: readonly DueCountRequest[]): Promise<(readonly [string, DueCount])[]> => {
        const [first] = part;
        const labels = first && labelsOf.get(first.userId);
        const counted = limit(async () =>
          first === undefined || labels === undefined
            ? database.transaction((transaction) => readDueCounts(transaction, part))
            : [await readLabelledDueCount(database, first, labels)],
        );
        // Leaves out users whose statement timed out or, on Citus, where each user has one, failed.
        const counts = await counted.catch((error: unknown) => {
          if (isDistributed || isTooSlow(error)) return [];
          throw error;
        });
        return counts.map((count, index) => [part[index]?.userId ?? '', count]);
      };
      const plain = asked.filter(({ userId }) => !labelsOf.has(userId));
      const labelled = asked.filter(({ userId }) => labelsOf.has(userId)).map((each) => [each]);
      const parts = [...partsOf(plain, isDistributed ? 1 : USERS_AT_A_TIME), ...labelled];
      const counts = new Map((await Promise.all(parts.map(read))).flat());
      const dueCounts = users.flatMap(({ userId }) => {
        const count = counts.get(userId);
        return count === undefined ? [] : [{ userId, ...count, titles: [...count.titles] }];
      });
      return { dueCounts };
    },
  };
}

/** How long a prediction computes before it lets other requests run. */
const TURN_MS = 0.5;

/** Runs all steps. After each turn, pauses as long as the turn took, at least 1 ms, so that other requests run. */
async function inTurns<T>(steps: Generator<undefined, T>): Promise<T> {
  let beganMs = performance.now();
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    const workedMs = performance.now() - beganMs;
    if (workedMs < TURN_MS) continue;
    await sleep(workedMs);
    beganMs = performance.now();
  }
}

type Window = { timeZone: string; asOf: Date | undefined; days: number };

/** `asOf` is undefined where none was given: now. */
function readWindow(window: StatsWindow | null): Window {
  if (window === null) throw invalidField('window', 'must be given.');
  const { timeZone, asOfTime, days } = window;
  requireTimeZone('window.time_zone', timeZone);
  if (days < 0 || days > MAX_DAYS) {
    throw invalidField('window.days', `must be from 1 to ${MAX_DAYS}.`);
  }
  const asOf = readAsOf('window.as_of_time', asOfTime);
  return { timeZone, asOf, days: days || DEFAULT_DAYS };
}

function readMinReviews(minReviews: number): number {
  if (minReviews < 0 || minReviews > MAX_MIN_REVIEWS) {
    throw invalidField('min_reviews', `must be from 1 to ${MAX_MIN_REVIEWS}.`);
  }
  return minReviews || DEFAULT_MIN_REVIEWS;
}

/** undefined where none was given. */
function readAsOf(field: string, asOfTime: Timestamp | null): Date | undefined {
  if (asOfTime === null) return undefined;
  const asOf = fromTimestamp(asOfTime, field);
  if (asOf.getTime() >= EARLIEST_MS && asOf.getTime() < LATEST_MS) return asOf;
  throw invalidField(field, 'must lie in the years 1970 to 9997.');
}

/** 1 to 500 distinct users, each with the time zone at the same place of the other list. */
function readZonesOfUsers(
  userIds: readonly string[],
  timeZones: readonly string[],
): { userId: string; timeZone: string }[] {
  if (userIds.length < 1 || userIds.length > MAX_USERS)
    throw invalidField('user_ids', `must name 1 to ${MAX_USERS} users.`);
  const ids = userIds.map((text) => {
    const userId = readUuid(text);
    if (userId === undefined) throw invalidField('user_ids', 'must be UUIDs.');
    return userId;
  });
  if (new Set(ids).size < ids.length) throw invalidField('user_ids', 'must not name a user twice.');
  if (timeZones.length !== userIds.length)
    throw invalidField('time_zones', 'must have one entry for each of user_ids.');
  for (const timeZone of new Set(timeZones)) requireTimeZone('time_zones', timeZone);
  return ids.map((userId, index) => ({ userId, timeZone: timeZones[index] ?? '' }));
}

/** By user, for those with a filter. */
function readLabelsOfUsers(
  users: readonly { userId: string }[],
  filters: readonly { labels: readonly string[] }[],
): Map<string, readonly string[]> {
  if (filters.length > 0 && filters.length !== users.length)
    throw invalidField('label_filters', 'must be none, or one for each of user_ids.');
  const labelsOf = new Map<string, readonly string[]>();
  for (const [index, { labels }] of filters.entries()) {
    const read = readLabels('label_filters', labels);
    const user = users[index];
    if (read !== null && user !== undefined) labelsOf.set(user.userId, read);
  }
  return labelsOf;
}

const MESSAGE_OF_BAND: Record<Band, IntervalBand> = {
  0: 'INTERVAL_BAND_NEW',
  1: 'INTERVAL_BAND_DAYS_1_TO_6',
  2: 'INTERVAL_BAND_DAYS_7_TO_20',
  3: 'INTERVAL_BAND_DAYS_21_TO_89',
  4: 'INTERVAL_BAND_DAYS_90_AND_MORE',
};

function toDayCounts(dates: readonly string[], byDate: ReadonlyMap<string, number>): DayCountInput[] {
  return dates.map((date) => ({ date, count: byDate.get(date) ?? 0 }));
}

function toRetentionCount(counts: readonly RecallCount[]): RetentionCountInput {
  const reviews = counts.reduce((sum, count) => sum + count.reviews, 0);
  const recalled = counts.reduce((sum, count) => sum + count.recalled, 0);
  return { reviews, recalled, ...(reviews > 0 && { retention: recalled / reviews }) };
}

function toRetentionMessage(
  dates: readonly string[],
  counts: readonly (RecallCount & { date: string; band: Band })[],
) {
  const byDate = Map.groupBy(counts, ({ date }) => date);
  const byBand = Map.groupBy(counts, ({ band }) => band);
  return {
    total: toRetentionCount(counts),
    bands: BANDS.map((band) => ({
      band: MESSAGE_OF_BAND[band],
      count: toRetentionCount(byBand.get(band) ?? []),
    })),
    days: dates.map((date) => ({ date, count: toRetentionCount(byDate.get(date) ?? []) })),
  };
}

function toDistributionsMessage({ byEaseFactorTenths, byBand, byGrade }: Distributions) {
  return {
    easeFactors: toEaseFactorCounts(byEaseFactorTenths),
    intervals: BANDS.map((band) => ({ band: MESSAGE_OF_BAND[band], count: byBand.get(band) ?? 0 })),
    grades: QUALITIES.map((quality) => ({ quality, count: byGrade.get(quality) ?? 0 })),
  };
}

/** Bounds the list of steps: an ease factor grows by 0.1 with each grade of 5 and has no upper bound. */
const MAX_STEPS = 100;

function toEaseFactorCounts(byTenths: ReadonlyMap<number, number>) {
  const [lowest = 0] = [...byTenths.keys()].toSorted((a, b) => a - b);
  const counts: number[] = [];
  for (const [tenths, count] of byTenths) {
    const step = Math.min(tenths - lowest, MAX_STEPS - 1);
    counts[step] = (counts[step] ?? 0) + count;
  }
  return Array.from(counts, (count = 0, step) => ({ easeFactor: (lowest + step) / 10, count }));
}

function toPredictionMessage(
  { reviews, scores, best, recallNow, recallWhenSm2Asks }: Prediction,
  training: Training | null,
): GetPredictionResponseInput {
  return {
    reviews,
    scores: scores.map(({ predictor, auc, bins, ...score }) => ({
      ...score,
      predictor: toPredictorMessage(predictor),
      ...(auc !== null && { auc }),
      bins: [...bins],
    })),
    best: toPredictorMessage(best),
    recallNow,
    ...(recallWhenSm2Asks !== null && { recallWhenSm2Asks }),
    trainTime: toOptionalTimestamp(training?.trainTime ?? null),
    trainReviews: training?.reviews ?? 0,
  };
}
