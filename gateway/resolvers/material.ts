// A material, its schedule, and its history.
import type {
  MaterialResolvers,
  ReviewPreviewResolvers,
  ReviewResolvers,
  ScheduleResolvers,
  SnoozeResolvers,
} from '../../generated/gateway/resolvers.ts';
import type { Schedule as ScheduleMessage } from '../../generated/scheduling/v1/Schedule.ts';
import { readReviewsOfMaterial, readSnoozes } from '../histories.ts';
import { readConnection } from '../relay.ts';
import { fromMaterialType, required, toOptionalTime, toTime } from '../wire.ts';

export const Material: MaterialResolvers = {
  id: ({ message }) => message.materialId,
  title: ({ message }) => message.title,
  content: ({ message }) => message.content ?? null,
  sourceUrl: ({ message }) => message.sourceUrl ?? null,
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
  isDue: ({ message }) => {
    const nextReview = toOptionalTime(message.nextReviewTime);
    return nextReview === null || nextReview.getTime() <= Date.now();
  },
  reviews: ({ userId, message }, page, context) =>
    readConnection(page, readReviewsOfMaterial(context, userId, message.materialId)),
  snoozes: ({ userId, message }, page, context) =>
    readConnection(page, readSnoozes(context, userId, message.materialId)),
  previews: async ({ userId, message }, _arguments, { clients, call }) => {
    const { materialId } = message;
    const { previews } = await clients.reviews.previewReview({ userId, materialId }, call);
    return previews.map(({ quality, schedule }) => ({
      quality: quality ?? 0,
      schedule: toSchedule(required(schedule)),
    }));
  },
};

export const Review: ReviewResolvers = {
  id: ({ message }) => message.reviewId,
  materialId: ({ message }) => message.materialId,
  material: async ({ userId, message }, _arguments, { loaders }) => {
    const material = await loaders.material.load({ userId, materialId: message.materialId });
    return material === undefined ? null : { userId, message: material };
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
  materials: async ({ userId, message }, _arguments, { loaders }) => {
    const keys = message.materialIds.map((materialId) => ({ userId, materialId }));
    const found = await Promise.all(keys.map((key) => loaders.material.load(key)));
    return found.flatMap((material) => (material === undefined ? [] : [{ userId, message: material }]));
  },
  snoozeUntil: ({ message }) => toTime(message.snoozeUntilTime),
  reason: ({ message }) => message.reason,
  createdAt: ({ message }) => toTime(message.createTime),
};

function toSchedule({ easeFactor, intervalDays, repetitions, nextReviewTime }: ScheduleMessage) {
  return { ef: easeFactor, interval: intervalDays, repetitions, nextReview: toOptionalTime(nextReviewTime) };
}

/** Made whole by `toSchedule`. */
export const Schedule: ScheduleResolvers = {};
export const ReviewPreview: ReviewPreviewResolvers = {};
