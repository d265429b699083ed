// All learners: their figures together, and a list of them.
import type {
  LearnerResolvers,
  LearnerFilter as NamedFilter,
  LearnerOrder as NamedOrder,
  OverviewResolvers,
} from '../../generated/gateway/resolvers.ts';
import type { GatewayContext } from '../graphql/context.ts';
import { toTime } from '../graphql/mapper.ts';
import { ID_OF, type LearnerNode } from '../graphql/model.ts';
import { type Connection, type PageArguments, readConnection } from '../graphql/relay.ts';
import { usersById } from '../reads/reads.ts';

type LearnersRequest = PageArguments & { order?: NamedOrder | null; filter?: NamedFilter | null };

/** A page of learners, with their users in one call. */
export function learners(
  context: GatewayContext,
  { order, filter, ...page }: LearnersRequest,
): Promise<Connection<LearnerNode>> {
  const { budget, clients } = context;
  return readConnection(page, ID_OF.learner, async (request) => {
    const asked = {
      ...request,
      order: `LEARNER_ORDER_${order ?? 'DUE'}` as const,
      ...(filter && { filter: `LEARNER_FILTER_${filter}` as const }),
    };
    const { learners, nextPageToken } = await budget.read(clients.learners.listLearners, asked);
    const users = await usersById(context, learners);
    const rows = learners.map((learner) => ({ ...learner, user: users.get(learner.userId) ?? null }));
    return { rows, nextPageToken };
  });
}

export const Overview: OverviewResolvers = {
  asOf: ({ asOfTime }) => toTime(asOfTime),
};

const countOf = (reviews: number, recalled: number) => ({
  reviews,
  recalled,
  retention: reviews > 0 ? recalled / reviews : null,
});

export const Learner: LearnerResolvers = {
  asOf: ({ countTime }) => toTime(countTime),
  month: ({ reviewsMonth, recalledMonth }) => countOf(reviewsMonth, recalledMonth),
  monthBefore: ({ reviewsMonthBefore, recalledMonthBefore }) =>
    countOf(reviewsMonthBefore, recalledMonthBefore),
  lastReviewOn: ({ lastReviewDate }) => lastReviewDate || null,
};
