// The rpcs of scheduling.v1.LearnerService.
import type { LearnerInput } from '../../../generated/scheduling/v1/Learner.ts';
import type { LearnerServiceHandlers } from '../../../generated/scheduling/v1/LearnerService.ts';
import type { LearnerSettingsInput } from '../../../generated/scheduling/v1/LearnerSettings.ts';
import type { UpdateLearnerSettingsRequest } from '../../../generated/scheduling/v1/UpdateLearnerSettingsRequest.ts';
import { invalidField, ServiceError } from '../../platform/errors.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import { decodePageToken, readPageSize, toPage } from '../../platform/page-token.ts';
import { toTimestamp } from '../../platform/protobuf/timestamps.ts';
import { requireTimeZone } from '../../platform/time-zone.ts';
import { requireUserId } from '../../platform/uuid.ts';
import { enumReader, readScheduler, toSchedulerMessage } from '../messages.ts';
import type { HandlerDependencies } from '../requests.ts';
import type { Settings } from '../reviews/scheduler.ts';
import { dateOf } from './rules.ts';
import { addSettings, findSettings, type Learner, listLearners, lockSettings, readOverview } from './sql.ts';

const readOrder = enumReader('order', 'LEARNER_ORDER', ['due', 'reviews', 'retention', 'lastReview']);
const readFilter = enumReader('filter', 'LEARNER_FILTER', ['backlogGrowing', 'streakBroken', 'wentQuiet']);

export function createLearnerHandlers({
  database,
  now,
}: HandlerDependencies): AsyncHandlers<LearnerServiceHandlers> {
  const requireOverview = async () => {
    const overview = await readOverview(database);
    if (overview !== undefined) return overview;
    throw new ServiceError('UNAVAILABLE', { message: 'The learners are being counted for the first time.' });
  };
  return {
    async GetOverview() {
      const { asOfTime, summary } = await requireOverview();
      const { days, ...figures } = summary;
      return {
        ...figures,
        asOfTime: toTimestamp(asOfTime),
        days: days.map(({ due, ...day }) => ({ ...day, ...(due !== null && { due }) })),
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
      const settings = await findSettings(database, requireUserId(request.userId));
      return { settings: toSettingsMessage(settings) };
    },

    async UpdateLearnerSettings(request) {
      const userId = requireUserId(request.userId);
      const change = readChange(request);
      return database.transaction(async (transaction) => {
        if (!(await lockSettings(transaction, userId)))
          throw new ServiceError('NOT_FOUND', {
            field: 'user_id',
            message: 'The data of this user were deleted.',
          });
        const before = await findSettings(transaction, userId);
        const changed = { ...before, ...change };
        const isSame = (['scheduler', 'desiredRetention', 'timeZone'] as const).every(
          (name) => changed[name] === before[name],
        );
        if (isSame) return { settings: toSettingsMessage(before) };
        const settings = { ...changed, version: before.version + 1 };
        await addSettings(transaction, userId, settings, now());
        return { settings: toSettingsMessage(settings) };
      });
    },
  };
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

const MIN_RETENTION = 0.7;
const MAX_RETENTION = 0.97;

/** The fields that are given. */
function readChange(request: UpdateLearnerSettingsRequest): Partial<Settings> {
  const { desiredRetention, timeZone } = request;
  const scheduler = readScheduler(request.scheduler);
  if (
    desiredRetention !== undefined &&
    !(desiredRetention >= MIN_RETENTION && desiredRetention <= MAX_RETENTION)
  )
    throw invalidField('desired_retention', 'must be from 0.70 to 0.97.');
  return {
    ...(scheduler !== undefined && { scheduler }),
    ...(desiredRetention !== undefined && { desiredRetention }),
    ...(timeZone !== '' && { timeZone: requireTimeZone('time_zone', timeZone) }),
  };
}

function toSettingsMessage({ scheduler, parameters, ...settings }: Settings): LearnerSettingsInput {
  return { ...settings, scheduler: toSchedulerMessage(scheduler), parameters: [...(parameters ?? [])] };
}
