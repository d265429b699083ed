// The rpcs of scheduling.v1.LearnerService.
import type { LearnerInput } from '../../../generated/scheduling/v1/Learner.ts';
import type { LearnerServiceHandlers } from '../../../generated/scheduling/v1/LearnerService.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import { decodePageToken, readPageSize, toPage } from '../../platform/page-token.ts';
import { toTimestamp } from '../../platform/protobuf/timestamps.ts';
import { enumReader } from '../messages.ts';
import type { HandlerDependencies } from '../requests.ts';
import { dateOf } from './rules.ts';
import { type Learner, listLearners, readOverview } from './sql.ts';

const readOrder = enumReader('order', 'LEARNER_ORDER', ['due', 'reviews', 'retention', 'lastReview']);
const readFilter = enumReader('filter', 'LEARNER_FILTER', ['backlogGrowing', 'streakBroken', 'wentQuiet']);

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
