// A material, its schedule, and its history: reviews and snoozes.
import { type GraphQLResolveInfo, Kind, type SelectionSetNode } from 'graphql';
import type {
  MaterialResolvers,
  Resolvers,
  ReviewResolvers,
  SnoozeResolvers,
} from '../../generated/gateway/resolvers.ts';
import type { Material as MaterialMessage } from '../../generated/scheduling/v1/Material.ts';
import type { Review as ReviewMessage } from '../../generated/scheduling/v1/Review.ts';
import type { Schedule as ScheduleMessage } from '../../generated/scheduling/v1/Schedule.ts';
import type { Snooze as SnoozeMessage } from '../../generated/scheduling/v1/Snooze.ts';
import { hasReason } from '../../services/platform/errors.ts';
import { isSandboxUser } from '../../services/platform/uuid.ts';
import { countOf, type Page, type PageRequest, readConnection, toConnection } from '../connections.ts';
import { type GatewayContext, nowFor } from '../context.ts';
import { isDue, required, toOptionalTime, toTime } from '../mapper.ts';
import { type MaterialNode, type ReviewNode, type SnoozeNode, toNodes } from '../nodes.ts';

/** null where the user has no such material. */
export async function materialOf(
  { loaders }: GatewayContext,
  key: { userId: string; materialId: string },
): Promise<MaterialNode | null> {
  const message = await loaders.material(key);
  return message === null ? null : { userId: key.userId, message };
}

type OfMaterial = PageRequest & { materialId?: string | null | undefined };

/** Without `materialId` of all materials; of a material that does not exist, none. */
export function listReviews(
  { budget, clients }: GatewayContext,
  userId: string,
  request: OfMaterial & { date?: string; timeZone?: string },
): Promise<Page<ReviewNode>> {
  return noneOfUnknown(request, async (materialId) => {
    const asked = { userId, ...request, materialId };
    const { reviews, nextPageToken } = await budget.read(clients.reviews.listReviews, asked);
    return { rows: toNodes(reviews, userId), nextPageToken };
  });
}

/** As `listReviews`. */
export function listSnoozes(
  { budget, clients }: GatewayContext,
  userId: string,
  request: OfMaterial,
): Promise<Page<SnoozeNode>> {
  return noneOfUnknown(request, async (materialId) => {
    const asked = { userId, ...request, materialId };
    const { snoozes, nextPageToken } = await budget.read(clients.snoozes.listSnoozes, asked);
    return { rows: toNodes(snoozes, userId), nextPageToken };
  });
}

async function noneOfUnknown<T>(
  { materialId }: OfMaterial,
  read: (materialId: string) => Promise<Page<T>>,
): Promise<Page<T>> {
  const none = { rows: [], nextPageToken: '' };
  // Scheduling takes an empty one for all.
  if (materialId === '') return none;
  return read(materialId ?? '').catch((error: unknown) => {
    if (hasReason(error, 'NOT_FOUND')) return none;
    throw error;
  });
}

/** A long text of a material, which lists leave out: read for all rows that ask for one, in one call. */
async function longTextOf(
  { userId, message, isWhole }: MaterialNode,
  name: 'content' | 'sourceUrl',
  { budget, loaders }: GatewayContext,
): Promise<string | null> {
  const { materialId } = message;
  const whole = isWhole ? message : await loaders.wholeMaterial({ userId, materialId });
  const text = whole?.[name];
  return text === undefined ? null : budget.answer(text);
}

/** The fields of a Review that REVIEW_VIEW_BASIC leaves out. */
const NOT_IN_BASIC_REVIEWS: ReadonlySet<keyof ReviewResolvers> = new Set([
  'before',
  'after',
  'scheduler',
  'undoneAt',
  'undoneBy',
] as const);

/** A field that the message has under the same name needs no resolver. */
type OfMessage<Fields, Message> = Fields & Required<Omit<Fields, keyof Message>>;

const Material: OfMessage<MaterialResolvers, MaterialMessage> = {
  id: ({ message }) => message.materialId,
  content: (material, _arguments, context) => longTextOf(material, 'content', context),
  sourceUrl: (material, _arguments, context) => longTextOf(material, 'sourceUrl', context),
  ef: ({ message }) => message.easeFactor,
  interval: ({ message }) => message.intervalDays,
  nextReview: ({ message }) => toOptionalTime(message.nextReviewTime),
  lastReviewed: ({ message }) => toOptionalTime(message.lastReviewedTime),
  createdAt: ({ message }) => toTime(message.createTime),
  updatedAt: ({ message }) => toTime(message.updateTime),
  archivedAt: ({ message }) => toOptionalTime(message.archiveTime),
  isDue: ({ userId, message }, _arguments, { loaders }) => {
    const time = toOptionalTime(message.nextReviewTime);
    if (!isSandboxUser(userId)) return isDue(time, Date.now());
    return loaders.testClock(userId).then((clock) => isDue(time, toTime(required(clock).nowTime)));
  },
  lapses: async ({ userId, message: { materialId } }, _arguments, { loaders }) =>
    (await loaders.lapses({ userId, materialId })).lapses,
  isLeech: async ({ userId, message: { materialId } }, _arguments, { loaders }) =>
    (await loaders.lapses({ userId, materialId })).isLeech,
  recall: async ({ userId, message: { materialId } }, { at }, context) => {
    const { loaders } = context;
    const timeZone = (await loaders.user({ userId }))?.timeZone ?? 'UTC';
    const atMs = (at ?? nowFor(context, userId))?.getTime() ?? null;
    return loaders.recall({ userId, materialId, timeZone, atMs });
  },
  reviews: async (material, { first, after }, context, info) => {
    const { userId, message } = material;
    const { materialId } = message;
    if ((after ?? null) === null) {
      const view = asksForAny(NOT_IN_BASIC_REVIEWS, info) ? 'REVIEW_VIEW_FULL' : 'REVIEW_VIEW_BASIC';
      const key = { userId, materialId, pageSize: countOf(first), view } as const;
      const page = await context.loaders.firstReviews(key);
      const rows = page.rows.map((message): ReviewNode => ({ userId, message, material }));
      return toConnection({ ...page, rows });
    }
    return readConnection({ first, after }, async (request) => {
      const page = await listReviews(context, userId, { ...request, materialId });
      return { ...page, rows: page.rows.map((row) => ({ ...row, material })) };
    });
  },
  snoozes: ({ userId, message: { materialId } }, page, context) =>
    readConnection(page, (request) => listSnoozes(context, userId, { ...request, materialId })),
  previews: async ({ userId, message: { materialId } }, _arguments, { clients, budget }) => {
    const { previews } = await budget.read(clients.reviews.previewReview, { userId, materialId });
    return previews.map(({ quality, schedule }) => ({
      quality: quality ?? 0,
      schedule: toSchedule(required(schedule)),
    }));
  },
};

const Review: OfMessage<ReviewResolvers, ReviewMessage> = {
  id: ({ message }) => message.reviewId,
  material: ({ userId, message: { materialId }, material }, _arguments, context) =>
    material ?? materialOf(context, { userId, materialId }),
  quality: ({ message }) => message.quality ?? 0,
  reviewedAt: ({ message }) => toTime(message.reviewTime),
  before: ({ message }) => toSchedule(required(message.before)),
  after: ({ message }) => toSchedule(required(message.after)),
  madeLeech: async ({ userId, message: { materialId, reviewId, quality } }, _arguments, { loaders }) => {
    // A review that recalled is no lapse, so most need no call.
    if ((quality ?? 0) >= 3) return false;
    return (await loaders.lapses({ userId, materialId })).leechReviewId === reviewId;
  },
  undoneAt: ({ message }) => toOptionalTime(message.undoTime),
  undoneBy: ({ message }) => message.undoActor || null,
};

const Snooze: OfMessage<SnoozeResolvers, SnoozeMessage> = {
  id: ({ message }) => message.snoozeId,
  materials: async ({ userId, message: { materialIds } }, _arguments, context) => {
    const found = await Promise.all(
      materialIds.map((materialId) => materialOf(context, { userId, materialId })),
    );
    return found.filter((material) => material !== null);
  },
  snoozeUntil: ({ message }) => toTime(message.snoozeUntilTime),
  createdAt: ({ message }) => toTime(message.createTime),
  cancelledAt: ({ message }) => toOptionalTime(message.cancelTime),
  spreadDays: ({ message }) => message.spreadDays || null,
};

export const materialResolvers: Resolvers = { Material, Review, Snooze };

function toSchedule({ easeFactor, intervalDays, repetitions, nextReviewTime }: ScheduleMessage) {
  return { ef: easeFactor, interval: intervalDays, repetitions, nextReview: toOptionalTime(nextReviewTime) };
}

type Field = Pick<GraphQLResolveInfo, 'fieldNodes' | 'fragments'>;

/** Whether a field with one of these names stands anywhere below `field`, even where a directive leaves it out. */
function asksForAny(names: ReadonlySet<string>, { fieldNodes, fragments }: Field): boolean {
  const seen = new Set<string>();
  const isIn = ({ selections }: SelectionSetNode): boolean =>
    selections.some((each) => {
      if (each.kind === Kind.FIELD && names.has(each.name.value)) return true;
      if (each.kind !== Kind.FRAGMENT_SPREAD)
        return each.selectionSet !== undefined && isIn(each.selectionSet);
      const fragment = fragments[each.name.value];
      if (fragment === undefined || seen.has(each.name.value)) return false;
      seen.add(each.name.value);
      return isIn(fragment.selectionSet);
    });
  return fieldNodes.some(({ selectionSet }) => selectionSet !== undefined && isIn(selectionSet));
}
