// The rpcs of scheduling.v1.LearnerService.
import type { LearnerInput } from '../../../generated/scheduling/v1/Learner.ts';
import type { LearnerFilter as LearnerFilterMessage } from '../../../generated/scheduling/v1/LearnerFilter.ts';
import type { LearnerOrder as LearnerOrderMessage } from '../../../generated/scheduling/v1/LearnerOrder.ts';
import type { LearnerServiceHandlers } from '../../../generated/scheduling/v1/LearnerService.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import { decodePageToken, readPageSize, toPage } from '../../platform/page-token.ts';
import { toTimestamp } from '../../platform/protobuf/timestamps.ts';
import type { HandlerDependencies } from '../dependencies.ts';
import { fromEnum } from '../mapper.ts';
import { dateOf } from './rules.ts';
import { type Learner, type LearnerFilter, type LearnerOrder, listLearners, readOverview } from './sql.ts';

const fromOrder = fromEnum<LearnerOrderMessage, LearnerOrder>('order', {
  LEARNER_ORDER_UNSPECIFIED: 'due',
  LEARNER_ORDER_DUE: 'due',
  LEARNER_ORDER_REVIEWS: 'reviews',
  LEARNER_ORDER_RETENTION: 'retention',
  LEARNER_ORDER_LAST_REVIEW: 'lastReview',
});
const fromFilter = fromEnum<LearnerFilterMessage, LearnerFilter>('filter', {
  LEARNER_FILTER_UNSPECIFIED: 'all',
  LEARNER_FILTER_BACKLOG_GROWING: 'backlogGrowing',
  LEARNER_FILTER_STREAK_BROKEN: 'streakBroken',
});

export function createLearnerHandlers({
  database,
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
      const order = fromOrder(request.order);
      const filter = fromFilter(request.filter);
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
