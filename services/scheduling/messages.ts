// Rows as the messages of scheduling.v1.
import type { MaterialInput } from '../../generated/scheduling/v1/Material.ts';
import type { MaterialType as MaterialTypeMessage } from '../../generated/scheduling/v1/MaterialType.ts';
import type { Predictor as PredictorMessage } from '../../generated/scheduling/v1/Predictor.ts';
import type { ReviewInput } from '../../generated/scheduling/v1/Review.ts';
import type { ScheduleInput } from '../../generated/scheduling/v1/Schedule.ts';
import type { Scheduler as SchedulerMessage } from '../../generated/scheduling/v1/Scheduler.ts';
import type { SnoozeInput } from '../../generated/scheduling/v1/Snooze.ts';
import type { TestClockInput } from '../../generated/scheduling/v1/TestClock.ts';
import { invalidField } from '../platform/errors.ts';
import { toDuration } from '../platform/protobuf/durations.ts';
import { toOptionalTimestamp, toTimestamp } from '../platform/protobuf/timestamps.ts';
import { MATERIAL_TYPES, type Material } from './materials/material.ts';
import type { Review, ReviewSummary } from './reviews/review.ts';
import type { ScheduleAt } from './reviews/schedule.ts';
import { SCHEDULERS, type SchedulerName } from './reviews/scheduler.ts';
import type { ListedSnooze } from './snoozes/rules.ts';
import type { Predictor } from './statistics/prediction.ts';

/** The name in the proto of a value: ('DUE_STATE', 'notDue') is DUE_STATE_NOT_DUE. */
const nameIn = (prefix: string, value: string) =>
  `${prefix}_${value.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;

/**
 * Reads the enumeration `prefix` of the proto in the field `field`; undefined where it is not given. Throws INVALID_REQUEST for a
 * number outside the enumeration, which the proto loader does not refuse.
 */
export function enumReader<const V extends string>(
  field: string,
  prefix: string,
  values: readonly V[],
): (message: string) => V | undefined {
  const byMessage = new Map<string, V | undefined>([[nameIn(prefix, 'unspecified'), undefined]]);
  for (const value of values) byMessage.set(nameIn(prefix, value), value);
  return (message) => {
    if (!byMessage.has(message)) throw invalidField(field, 'is not one of its values.');
    return byMessage.get(message);
  };
}

export const readMaterialType = enumReader('type', 'MATERIAL_TYPE', MATERIAL_TYPES);
const readView = enumReader('view', 'MATERIAL_VIEW', ['basic', 'full']);
/** How much of each material; all where it is not given. */
export const readMaterialView = (message: string) => readView(message) ?? 'full';

/** An enumeration has exactly the names that its values make. */
const NAME_OF_TYPE = new Map(
  MATERIAL_TYPES.map((type) => [type, nameIn('MATERIAL_TYPE', type) as MaterialTypeMessage]),
);

const NAME_OF_SCHEDULER = new Map(
  SCHEDULERS.map((scheduler) => [scheduler, nameIn('SCHEDULER', scheduler) as SchedulerMessage]),
);

export const readScheduler = enumReader('scheduler', 'SCHEDULER', SCHEDULERS);

export function toSchedulerMessage(scheduler: SchedulerName): SchedulerMessage {
  return NAME_OF_SCHEDULER.get(scheduler) ?? 'SCHEDULER_UNSPECIFIED';
}

/** null: none. */
export function toPredictorMessage(predictor: Predictor | null): PredictorMessage {
  return nameIn('PREDICTOR', predictor ?? 'unspecified') as PredictorMessage;
}

export function toMaterialMessage(material: Material): MaterialInput {
  const message: MaterialInput = {
    materialId: material.materialId,
    title: material.title,
    type: NAME_OF_TYPE.get(material.type) ?? 'MATERIAL_TYPE_UNSPECIFIED',
    // An integer divided by 100 is the double nearest to the decimal, so 236 becomes 2.36 exactly as printed.
    easeFactor: material.easeFactorHundredths / 100,
    intervalDays: material.intervalDays,
    repetitions: material.repetitions,
    nextReviewTime: toOptionalTimestamp(material.nextReviewTime),
    lastReviewedTime: toOptionalTimestamp(material.lastReviewedTime),
    createTime: toTimestamp(material.createTime),
    updateTime: toTimestamp(material.updateTime),
    archiveTime: toOptionalTimestamp(material.archiveTime),
    revision: material.revision,
    ...(material.labels !== null && { labels: [...material.labels] }),
  };
  if (material.content !== null) message.content = material.content;
  if (material.sourceUrl !== null) message.sourceUrl = material.sourceUrl;
  return message;
}

export function toScheduleMessage(schedule: ScheduleAt): ScheduleInput {
  return {
    easeFactor: schedule.easeFactorHundredths / 100,
    intervalDays: schedule.intervalDays,
    repetitions: schedule.repetitions,
    nextReviewTime: toOptionalTimestamp(schedule.nextReviewTime),
  };
}

/** A summary has no schedules and no request ID. */
export function toReviewMessage(review: Review | ReviewSummary): ReviewInput {
  const { reviewId, materialId, quality, revision } = review;
  const message: ReviewInput = {
    reviewId,
    materialId,
    quality,
    reviewTime: toTimestamp(review.reviewTime),
    revision,
  };
  if ('before' in review) {
    message.requestId = review.requestId ?? '';
    message.apiKeyId = review.apiKeyId ?? '';
    message.before = toScheduleMessage(review.before);
    message.after = toScheduleMessage(review.after);
    message.scheduler = toSchedulerMessage(review.scheduler);
    message.settingsVersion = review.settingsVersion;
    message.undoTime = toOptionalTimestamp(review.undo?.undoTime ?? null);
    message.undoActor = review.undo?.actor ?? '';
    message.undoRevision = review.undo?.revision ?? 0;
  }
  return message;
}

export function toSnoozeMessage(snooze: Omit<ListedSnooze, 'revision'>): SnoozeInput {
  return {
    snoozeId: snooze.snoozeId,
    materialIds: [...snooze.materialIds],
    snoozeUntilTime: toTimestamp(snooze.snoozeUntilTime),
    reason: snooze.reason,
    createTime: toTimestamp(snooze.createTime),
    actor: snooze.actor,
    apiKeyId: snooze.apiKeyId ?? '',
    requestId: snooze.requestId,
    cancelTime: toOptionalTimestamp(snooze.cancelTime),
    cancellableMaterials: snooze.cancellableMaterials,
    movedMaterials: snooze.movedMaterials,
    materialCount: snooze.materialCount,
    spreadDays: snooze.spreadDays ?? 0,
  };
}

/** A sandbox user's clock, which says `now` and is so far ahead. */
export function toClockMessage(now: Date, aheadMs: number): TestClockInput {
  return { nowTime: toTimestamp(now), ahead: toDuration(aheadMs) };
}
