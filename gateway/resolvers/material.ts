// A material, its schedule, and its history.
import type {
  MaterialResolvers,
  ReviewResolvers,
  SnoozeResolvers,
} from '../../generated/gateway/resolvers.ts';
import type { Schedule as ScheduleMessage } from '../../generated/scheduling/v1/Schedule.ts';
import { fromMaterialType, isDue, required, toOptionalTime, toTime } from '../graphql/mapper.ts';
import { ID_OF, type ReviewNode } from '../graphql/model.ts';
import { countOf, readConnection, toConnection } from '../graphql/relay.ts';
import { joinReviews, joinSnoozedMaterials } from '../reads/joins.ts';
import { rowsBelow } from '../reads/lookahead.ts';
import { findMaterials, listReviews, listSnoozes } from '../reads/reads.ts';

export const Material: MaterialResolvers = {
  id: ({ message }) => message.materialId,
  title: ({ message }) => message.title,
  content: ({ message: { content } }, _arguments, { budget }) =>
    content === undefined ? null : budget.answer(content),
  sourceUrl: ({ message: { sourceUrl } }, _arguments, { budget }) =>
    sourceUrl === undefined ? null : budget.answer(sourceUrl),
  type: ({ message }) => fromMaterialType(message.type),
  ef: ({ message }) => message.easeFactor,
  interval: ({ message }) => message.intervalDays,
  repetitions: ({ message }) => message.repetitions,
  nextReview: ({ message }) => toOptionalTime(message.nextReviewTime),
  lastReviewed: ({ message }) => toOptionalTime(message.lastReviewedTime),
  createdAt: ({ message }) => toTime(message.createTime),
  updatedAt: ({ message }) => toTime(message.updateTime),
  archivedAt: ({ message }) => toOptionalTime(message.archiveTime),
  revision: ({ message }) => message.revision,
  isDue: ({ message }) => isDue(toOptionalTime(message.nextReviewTime), Date.now()),
  reviews: (material, { first, after }, context) => {
    const { userId, message } = material;
    const joined = (after ?? null) === null ? material.joinedReviews?.get(countOf(first)) : undefined;
    if (joined instanceof Error) throw joined;
    const known = joined?.get(message.materialId);
    if (known !== undefined) {
      const rows = known.reviews.map((review): ReviewNode => ({ userId, message: review, material }));
      return toConnection({ rows, nextPageToken: known.nextPageToken }, ID_OF.review);
    }
    return readConnection({ first, after }, ID_OF.review, async (page) => {
      const { rows, nextPageToken } = await listReviews(context, userId, {
        ...page,
        materialId: message.materialId,
      });
      return { rows: rows.map((row) => ({ ...row, material })), nextPageToken };
    });
  },
  snoozes: ({ userId, message: { materialId } }, page, context, info) =>
    readConnection(page, ID_OF.snooze, async (request) => {
      const read = await listSnoozes(context, userId, { ...request, materialId });
      await joinSnoozedMaterials({ context, info }, rowsBelow(info, info.fieldNodes), read.rows);
      return read;
    }),
  previews: async ({ userId, message: { materialId } }, _arguments, { clients, budget }) => {
    const { previews } = await budget.read(clients.reviews.previewReview, { userId, materialId });
    return previews.map(({ quality, schedule }) => ({
      quality: quality ?? 0,
      schedule: toSchedule(required(schedule)),
    }));
  },
};

export const Review: ReviewResolvers = {
  id: ({ message }) => message.reviewId,
  materialId: ({ message }) => message.materialId,
  material: ({ userId, message: { materialId }, material }, _arguments, context) => {
    if (material instanceof Error) throw material;
    if (material !== undefined) return material;
    return findMaterials(context, userId, [materialId]).then((found) => found.get(materialId) ?? null);
  },
  quality: ({ message }) => message.quality ?? 0,
  reviewedAt: ({ message }) => toTime(message.reviewTime),
  before: ({ message }) => toSchedule(required(message.before)),
  after: ({ message }) => toSchedule(required(message.after)),
  revision: ({ message }) => message.revision,
};

export const Snooze: SnoozeResolvers = {
  id: ({ message }) => message.snoozeId,
  materialIds: ({ message }) => message.materialIds,
  materials: async ({ userId, message: { materialIds }, materials }, _arguments, context, info) => {
    if (materials instanceof Error) throw materials;
    if (materials !== undefined) return materials;
    const found = await findMaterials(context, userId, materialIds);
    await joinReviews({ context, info }, info.fieldNodes, [...found.values()]);
    return materialIds.flatMap((id) => found.get(id) ?? []);
  },
  snoozeUntil: ({ message }) => toTime(message.snoozeUntilTime),
  reason: ({ message }) => message.reason,
  createdAt: ({ message }) => toTime(message.createTime),
  cancelledAt: ({ message }) => toOptionalTime(message.cancelTime),
  cancellableMaterials: ({ message }) => message.cancellableMaterials,
};

function toSchedule({ easeFactor, intervalDays, repetitions, nextReviewTime }: ScheduleMessage) {
  return { ef: easeFactor, interval: intervalDays, repetitions, nextReview: toOptionalTime(nextReviewTime) };
}
