// The rpcs of scheduling.v1.LearnerService.
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { BestPredictorsInput } from '../../../generated/scheduling/v1/BestPredictors.ts';
import type { LearnerInput } from '../../../generated/scheduling/v1/Learner.ts';
import type { LearnerServiceHandlers } from '../../../generated/scheduling/v1/LearnerService.ts';
import type { LearnerSettingsInput } from '../../../generated/scheduling/v1/LearnerSettings.ts';
import type { PreviewLearnerSettingsRequest } from '../../../generated/scheduling/v1/PreviewLearnerSettingsRequest.ts';
import type { SetTestClockRequest } from '../../../generated/scheduling/v1/SetTestClockRequest.ts';
import type { SettingsOutlookInput } from '../../../generated/scheduling/v1/SettingsOutlook.ts';
import type { UpdateLearnerSettingsRequest } from '../../../generated/scheduling/v1/UpdateLearnerSettingsRequest.ts';
import { createFairQueue } from '../../platform/concurrency.ts';
import { invalidField, ServiceError } from '../../platform/errors.ts';
import { changesNothing } from '../../platform/field-mask.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import { fromDuration, fromTimestamp, toOptionalTimestamp, toTimestamp } from '../../platform/instants.ts';
import { decodePageToken, readPageSize, toPage } from '../../platform/page-token.ts';
import { partsOf } from '../../platform/parts.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { enumReader } from '../../platform/protobuf/enums.ts';
import { requireTimeZone } from '../../platform/time-zone.ts';
import { requireSandboxUserId, requireUserId } from '../../platform/uuid.ts';
import { readAheadMs, storeAheadMs } from '../clock.ts';
import { writeOnce } from '../idempotency.ts';
import { readScheduler, toClockMessage, toPredictorMessage, toSchedulerMessage } from '../messages.ts';
import { type HandlerDependencies, readRequestId, userDeleted } from '../requests.ts';
import { createFsrs, type Fsrs } from '../reviews/fsrs.ts';
import { isDesiredRetention, type Settings } from '../reviews/scheduler.ts';
import {
  findTraining,
  insertSettings,
  isLeechLapses,
  type LearnerSettings,
  lockLearner,
  MAX_LEECH_LAPSES,
} from '../rows.ts';
import type { Training } from '../statistics/prediction.ts';
import { addToOutlook, OUTLOOK_DAYS, type Outlook, type Upcoming } from './outlook.ts';
import { dateOf } from './rules.ts';
import { findSettings, type Learner, listLearners, readOverview, readUpcoming } from './sql.ts';
import { type BestCounts, readBest } from './training-sql.ts';

const readOrder = enumReader('order', 'LEARNER_ORDER', ['due', 'reviews', 'retention', 'lastReview']);
const readFilter = enumReader('filter', 'LEARNER_FILTER', ['backlogGrowing', 'streakBroken', 'wentQuiet']);

/** Previews read at once: each may read all reviews of 1,000 materials. */
const PREVIEWS_AT_ONCE = 2;
const MAX_PREVIEWED = 1000;
/** Materials to compute before other requests are served. */
const MATERIALS_IN_A_TURN = 20;
const DAY_MS = 86_400_000;

export function createLearnerHandlers(
  dependencies: HandlerDependencies,
): AsyncHandlers<LearnerServiceHandlers> {
  const { database, now, wallClock } = dependencies;
  const previews = createFairQueue(PREVIEWS_AT_ONCE);
  const requireOverview = async () => {
    const overview = await readOverview(database);
    if (overview !== undefined) return overview;
    throw new ServiceError('UNAVAILABLE', { message: 'The learners are being counted for the first time.' });
  };
  return {
    async GetOverview() {
      const [{ asOfTime, summary }, best] = await Promise.all([requireOverview(), readBest(database)]);
      const { days, ...figures } = summary;
      return {
        ...figures,
        asOfTime: toTimestamp(asOfTime),
        days: days.map(({ due, ...day }) => ({ ...day, ...(due !== null && { due }) })),
        ...(best && { bestPredictors: toBestMessage(best) }),
      };
    },

    async ListLearners(request) {
      const order = readOrder(request.order) ?? 'due';
      const filter = readFilter(request.filter) ?? 'all';
      const pageSize = readPageSize(request.pageSize);
      const list = ['ListLearners', order, filter];
      const position = decodePageToken(request.pageToken, list, ['count']);
      const after = position && { value: position.keys[0] ?? 0, userId: position.id };
      const { asOfTime } = await requireOverview();
      const rows = await listLearners(database, { order, filter }, { limit: pageSize + 1, after });
      const { page, nextPageToken } = toPage(rows, pageSize, list, (learner) => ({
        keys: [learner.value],
        id: learner.userId,
      }));
      return { learners: page.map(toLearnerMessage), nextPageToken, asOfTime: toTimestamp(asOfTime) };
    },

    async GetLearnerSettings(request) {
      const userId = requireUserId(request.userId);
      const [settings, training] = await Promise.all([
        findSettings(database, userId),
        findTraining(database, userId),
      ]);
      return { settings: toSettingsMessage(settings, training) };
    },

    async UpdateLearnerSettings(request) {
      const userId = requireUserId(request.userId);
      const change = readChange(request);
      return database.transaction(async (transaction) => {
        if (!(await lockLearner(transaction, userId))) throw userDeleted();
        const before = await findSettings(transaction, userId);
        const training = await findTraining(transaction, userId);
        const changes = { ...change, ...readParameters(request, training) };
        if (changesNothing(before, changes))
          return { settings: toSettingsMessage(before, training), unchanged: true };
        const settings = { ...before, ...changes, version: before.version + 1 };
        const createTime = await now(userId, transaction);
        await insertSettings(transaction, userId, [{ ...settings, createTime }]);
        return { settings: toSettingsMessage(settings, training) };
      });
    },

    async PreviewLearnerSettings(request, { signal }) {
      const userId = requireUserId(request.userId);
      const change = readScheduling(request);
      return previews.run(userId, signal, async () => {
        const [settings, training, asOf] = await Promise.all([
          findSettings(database, userId),
          findTraining(database, userId),
          now(userId),
        ]);
        const changed = { ...settings, ...change, ...readParameters(request, training) };
        const fsrs = createFsrs(training?.parameters ?? settings.parameters ?? undefined);
        const endTime = new Date(asOf.getTime() + OUTLOOK_DAYS * DAY_MS);
        const { materials, total } = await readUpcoming(database, userId, { endTime, limit: MAX_PREVIEWED });
        const scale = materials.length === 0 ? 0 : total / materials.length;
        const outlookOf = async (each: Settings) =>
          toOutlookMessage(await outlookInTurns(materials, each, { asOf, fsrs }), scale);
        return { before: await outlookOf(settings), after: await outlookOf(changed) };
      });
    },

    async SetTestClock(request) {
      const userId = requireSandboxUserId(request.userId);
      const requestId = readRequestId(request.requestId);
      const move = readMove(request);
      const write = async (transaction: Queryable) => {
        if (!(await lockLearner(transaction, userId))) throw userDeleted();
        const beforeMs = await readAheadMs(transaction, userId);
        const wallMs = wallClock().getTime();
        const aheadMs = move.time === undefined ? beforeMs + move.forwardMs : move.time.getTime() - wallMs;
        const time = new Date(wallMs + aheadMs);
        refuseMove(time, { field: move.time === undefined ? 'forward' : 'time', from: wallMs + beforeMs });
        await storeAheadMs(transaction, userId, aheadMs);
        return { response: { clock: toClockMessage(time, aheadMs) }, materialIds: [] };
      };
      const fields = move.time === undefined ? move : { time: move.time.getTime() };
      return writeOnce(dependencies, { userId, rpc: 'SetTestClock', requestId }, fields, write);
    },

    async GetTestClock(request) {
      const userId = requireSandboxUserId(request.userId);
      const aheadMs = await readAheadMs(database, userId);
      return { clock: toClockMessage(new Date(wallClock().getTime() + aheadMs), aheadMs) };
    },
  };
}

/** Either an instant or milliseconds. */
type Move = { time: Date } | { time?: undefined; forwardMs: number };

function readMove({ time, forward }: SetTestClockRequest): Move {
  if (time) return { time: fromTimestamp(time, 'time') };
  if (!forward) throw invalidField('time', 'or forward must be given.');
  const forwardMs = fromDuration(forward, 'forward');
  if (forwardMs < 1) throw invalidField('forward', 'must be 1 ms or more: a clock goes only forward.');
  return { forwardMs };
}

/** Then even the longest interval, 36,500 days, ends in a year that statistics accept. */
const END_OF_CLOCKS = new Date('9898-01-01T00:00:00Z');

/** `from`: the user's time, milliseconds since 1970. */
function refuseMove(to: Date, { field, from }: { field: string; from: number }): void {
  if (to.getTime() < from)
    throw invalidField(
      field,
      `must not be before the user's time, ${new Date(from).toISOString()}: a clock goes only forward.`,
    );
  // Not (to < end), since an instant too late for a Date compares with nothing.
  if (!(to < END_OF_CLOCKS)) throw invalidField(field, 'must not lead past the year 9897.');
}

function toLearnerMessage(learner: Learner): LearnerInput {
  const { lastReviewDay, dueBefore, countTime, retentionPermille: _, value: _1, ...figures } = learner;
  return {
    ...figures,
    countTime: toTimestamp(countTime),
    lastReviewDate: lastReviewDay === null ? '' : dateOf(lastReviewDay),
    ...(dueBefore !== null && { dueBefore }),
  };
}

/** The fields that are given. */
function readChange(request: UpdateLearnerSettingsRequest): Partial<LearnerSettings> {
  const { leechLapses } = request;
  const scheduling = readScheduling(request);
  if (leechLapses !== undefined && !isLeechLapses(leechLapses))
    throw invalidField('leech_lapses', `must be from 1 to ${MAX_LEECH_LAPSES}.`);
  return { ...scheduling, ...(leechLapses !== undefined && { leechLapses }) };
}

/** Those of them that a scheduler looks at. */
function readScheduling(request: PreviewLearnerSettingsRequest): Partial<Settings> {
  const { desiredRetention, timeZone } = request;
  const scheduler = readScheduler(request.scheduler);
  if (desiredRetention !== undefined && !isDesiredRetention(desiredRetention))
    throw invalidField('desired_retention', 'must be from 0.70 to 0.97.');
  return {
    ...(scheduler !== undefined && { scheduler }),
    ...(desiredRetention !== undefined && { desiredRetention }),
    ...(timeZone !== '' && { timeZone: requireTimeZone('time_zone', timeZone) }),
  };
}

const readFsrsParameters = enumReader('parameters', 'FSRS_PARAMETERS', ['default', 'trained']);

/** @throws INVALID_REQUEST for trained ones where there are none. */
function readParameters(
  { parameters }: Pick<PreviewLearnerSettingsRequest, 'parameters'>,
  training: Training | null,
): Partial<Settings> {
  const chosen = readFsrsParameters(parameters);
  if (chosen === undefined) return {};
  if (chosen === 'default') return { parameters: null };
  if (training === null) throw invalidField('parameters', 'were not trained on this learner yet.');
  return { parameters: training.parameters };
}

async function outlookInTurns(
  materials: readonly Upcoming[],
  settings: Settings,
  by: { asOf: Date; fsrs: Fsrs },
): Promise<Outlook> {
  const outlook = { reviews: 0, recalled: 0 };
  for (const part of partsOf(materials, MATERIALS_IN_A_TURN)) {
    for (const material of part) addToOutlook(outlook, material, settings, by);
    await yieldToEventLoop();
  }
  return outlook;
}

/** `scale`: for how many materials each one stands. */
function toOutlookMessage({ reviews, recalled }: Outlook, scale: number): SettingsOutlookInput {
  return {
    reviewsPerDay: (reviews * scale) / OUTLOOK_DAYS,
    ...(reviews > 0 && { recall: recalled / reviews }),
  };
}

function toBestMessage({ endTime, counts }: { endTime: Date; counts: BestCounts }): BestPredictorsInput {
  return {
    asOfTime: toTimestamp(endTime),
    counts: counts
      .toSorted((a, b) => b.learners - a.learners)
      .map(({ best, learners }) => ({ learners, predictor: toPredictorMessage(best) })),
  };
}

function toSettingsMessage(
  { scheduler, parameters, ...settings }: LearnerSettings,
  training: Training | null,
): LearnerSettingsInput {
  return {
    ...settings,
    scheduler: toSchedulerMessage(scheduler),
    parameters: [...(parameters ?? [])],
    trainTime: toOptionalTimestamp(training?.trainTime ?? null),
  };
}
