// Translates between the service's own types and the messages of scheduling.v1.
import type { DueState as DueStateMessage } from '../../generated/scheduling/v1/DueState.ts';
import type { MaterialInput } from '../../generated/scheduling/v1/Material.ts';
import type { MaterialState as MaterialStateMessage } from '../../generated/scheduling/v1/MaterialState.ts';
import type { MaterialType as MaterialTypeMessage } from '../../generated/scheduling/v1/MaterialType.ts';
import type { MaterialView as MaterialViewMessage } from '../../generated/scheduling/v1/MaterialView.ts';
import type { ReviewInput } from '../../generated/scheduling/v1/Review.ts';
import type { ReviewView as ReviewViewMessage } from '../../generated/scheduling/v1/ReviewView.ts';
import type { ScheduleInput } from '../../generated/scheduling/v1/Schedule.ts';
import type { SnoozeInput } from '../../generated/scheduling/v1/Snooze.ts';
import type { SnoozePreset as SnoozePresetMessage } from '../../generated/scheduling/v1/SnoozePreset.ts';
import { invalidField } from '../platform/errors.ts';
import { toOptionalTimestamp, toTimestamp } from '../platform/timestamps.ts';
import type { Material, MaterialType } from './domain/material.ts';
import type { SnoozePreset } from './domain/presets.ts';
import type { Review, ReviewSummary, ScheduleAt } from './domain/review.ts';
import type { Schedule } from './domain/sm2.ts';
import type { MaterialFilter } from './repositories/material-lists-repository.ts';
import type { Snooze } from './repositories/snoozes-repository.ts';

const TYPE_OF_MESSAGE: Record<MaterialTypeMessage, MaterialType | undefined> = {
  MATERIAL_TYPE_UNSPECIFIED: undefined,
  MATERIAL_TYPE_SIMPLE: 'simple',
  MATERIAL_TYPE_MATERIAL: 'material',
  MATERIAL_TYPE_FLASHCARD: 'flashcard',
  MATERIAL_TYPE_CARD: 'card',
};

const MESSAGE_OF_TYPE: Record<MaterialType, MaterialTypeMessage> = {
  simple: 'MATERIAL_TYPE_SIMPLE',
  material: 'MATERIAL_TYPE_MATERIAL',
  flashcard: 'MATERIAL_TYPE_FLASHCARD',
  card: 'MATERIAL_TYPE_CARD',
};

const PRESET_OF_MESSAGE: Record<SnoozePresetMessage, SnoozePreset | undefined> = {
  SNOOZE_PRESET_UNSPECIFIED: undefined,
  SNOOZE_PRESET_ONE_HOUR: '1h',
  SNOOZE_PRESET_TONIGHT: 'tonight',
  SNOOZE_PRESET_TOMORROW: 'tomorrow',
};

const STATE_OF_MESSAGE: Record<MaterialStateMessage, MaterialFilter['state']> = {
  MATERIAL_STATE_UNSPECIFIED: 'active',
  MATERIAL_STATE_ACTIVE: 'active',
  MATERIAL_STATE_ARCHIVED: 'archived',
  MATERIAL_STATE_ANY: 'any',
};

const IS_DUE_OF_MESSAGE: Record<DueStateMessage, boolean | undefined> = {
  DUE_STATE_UNSPECIFIED: undefined,
  DUE_STATE_DUE: true,
  DUE_STATE_NOT_DUE: false,
};

/** How much of each a list holds. */
type View = 'basic' | 'full';

const MATERIAL_VIEW_OF_MESSAGE: Record<MaterialViewMessage, View> = {
  MATERIAL_VIEW_UNSPECIFIED: 'full',
  MATERIAL_VIEW_BASIC: 'basic',
  MATERIAL_VIEW_FULL: 'full',
};

const REVIEW_VIEW_OF_MESSAGE: Record<ReviewViewMessage, View> = {
  REVIEW_VIEW_UNSPECIFIED: 'full',
  REVIEW_VIEW_BASIC: 'basic',
  REVIEW_VIEW_FULL: 'full',
};

/** The proto loader lets a number outside the enum through as it is. @throws INVALID_REQUEST for one. */
function fromEnum<M extends string, T>(values: Record<M, T>, message: M, field: string): T {
  if (!Object.hasOwn(values, message)) throw invalidField(field, `${field} is not one of its values.`);
  return values[message];
}

/** undefined where none was given. */
export const fromMaterialType = (message: MaterialTypeMessage) => fromEnum(TYPE_OF_MESSAGE, message, 'type');
/** undefined where none was given. */
export const fromSnoozePreset = (message: SnoozePresetMessage) =>
  fromEnum(PRESET_OF_MESSAGE, message, 'preset');
export const fromMaterialState = (message: MaterialStateMessage) =>
  fromEnum(STATE_OF_MESSAGE, message, 'state');
/** undefined: due or not. */
export const fromDueState = (message: DueStateMessage) => fromEnum(IS_DUE_OF_MESSAGE, message, 'due');
export const fromMaterialView = (message: MaterialViewMessage) =>
  fromEnum(MATERIAL_VIEW_OF_MESSAGE, message, 'view');
export const fromReviewView = (message: ReviewViewMessage) =>
  fromEnum(REVIEW_VIEW_OF_MESSAGE, message, 'view');

export function toMaterialMessage(material: Material): MaterialInput {
  const message: MaterialInput = {
    materialId: material.materialId,
    title: material.title,
    type: MESSAGE_OF_TYPE[material.type],
    ...toScheduleNumbers(material.schedule),
    nextReviewTime: toOptionalTimestamp(material.nextReviewTime),
    lastReviewedTime: toOptionalTimestamp(material.lastReviewedTime),
    createTime: toTimestamp(material.createTime),
    updateTime: toTimestamp(material.updateTime),
    archiveTime: toOptionalTimestamp(material.archiveTime),
    revision: material.revision,
  };
  if (material.content !== null) message.content = material.content;
  if (material.sourceUrl !== null) message.sourceUrl = material.sourceUrl;
  return message;
}

export function toScheduleMessage(schedule: ScheduleAt): ScheduleInput {
  return { ...toScheduleNumbers(schedule), nextReviewTime: toOptionalTimestamp(schedule.nextReviewTime) };
}

export function toReviewMessage(review: Review): ReviewInput {
  return {
    ...toReviewSummaryMessage(review),
    before: toScheduleMessage(review.before),
    after: toScheduleMessage(review.after),
  };
}

export function toReviewSummaryMessage(review: ReviewSummary): ReviewInput {
  return {
    reviewId: review.reviewId,
    materialId: review.materialId,
    quality: review.quality,
    reviewTime: toTimestamp(review.reviewTime),
    revision: review.revision,
  };
}

export function toSnoozeMessage(snooze: Snooze, materialIds: readonly string[]): SnoozeInput {
  return {
    snoozeId: snooze.snoozeId,
    materialIds: [...materialIds],
    snoozeUntilTime: toTimestamp(snooze.snoozeUntilTime),
    reason: snooze.reason,
    createTime: toTimestamp(snooze.createTime),
  };
}

/** A whole number of hundredths over 100 is the double nearest to the decimal, so 2.36 prints as 2.36. */
function toScheduleNumbers({ easeFactorHundredths, intervalDays, repetitions }: Schedule) {
  return { easeFactor: easeFactorHundredths / 100, intervalDays, repetitions };
}
