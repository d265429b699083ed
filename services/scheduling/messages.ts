// Rows as the messages of scheduling.v1, and the texts of materials from messages.
import type { MaterialInput } from '../../generated/scheduling/v1/Material.ts';
import type { MaterialType as MaterialTypeMessage } from '../../generated/scheduling/v1/MaterialType.ts';
import type { MaterialView } from '../../generated/scheduling/v1/MaterialView.ts';
import type { Predictor as PredictorMessage } from '../../generated/scheduling/v1/Predictor.ts';
import type { ReviewInput } from '../../generated/scheduling/v1/Review.ts';
import type { ScheduleInput } from '../../generated/scheduling/v1/Schedule.ts';
import type { Scheduler as SchedulerMessage } from '../../generated/scheduling/v1/Scheduler.ts';
import type { SnoozeInput } from '../../generated/scheduling/v1/Snooze.ts';
import type { TestClockInput } from '../../generated/scheduling/v1/TestClock.ts';
import type { UpdateMaterialRequest } from '../../generated/scheduling/v1/UpdateMaterialRequest.ts';
import { invalidField, invalidRequest } from '../platform/errors.ts';
import { readFieldMask } from '../platform/field-mask.ts';
import { toDuration, toOptionalTimestamp, toTimestamp } from '../platform/instants.ts';
import { readLabels } from '../platform/labels.ts';
import { enumName, enumNames, enumReader } from '../platform/protobuf/enums.ts';
import { codePointLength, isUri, snakeCase } from '../platform/text.ts';
import { MATERIAL_TYPES, type Material, type MaterialText, type MaterialType } from './materials/material.ts';
import { requireShortText, requireStorable } from './requests.ts';
import type { Review, ReviewSummary } from './reviews/review.ts';
import { SCHEDULERS, type SchedulerName } from './reviews/scheduler.ts';
import type { ScheduleAt } from './reviews/sm2.ts';
import type { ListedSnooze } from './snoozes/rules.ts';
import type { Predictor } from './statistics/prediction.ts';

export const readMaterialType = enumReader('type', 'MATERIAL_TYPE', MATERIAL_TYPES);
const readView = enumReader('view', 'MATERIAL_VIEW', ['basic', 'full']);
/** How much of each material; all where it is not given. */
export const readMaterialView = (message: MaterialView) => readView(message) ?? 'full';

export const readScheduler = enumReader('scheduler', 'SCHEDULER', SCHEDULERS);

const SCHEDULER_NAMES = enumNames<SchedulerName, SchedulerMessage>('SCHEDULER', SCHEDULERS);

export function toSchedulerMessage(scheduler: SchedulerName): SchedulerMessage {
  return SCHEDULER_NAMES[scheduler];
}

/** null: none. */
export function toPredictorMessage(predictor: Predictor | null): PredictorMessage {
  return enumName('PREDICTOR', predictor);
}

const TYPE_NAMES = enumNames<MaterialType, MaterialTypeMessage>('MATERIAL_TYPE', MATERIAL_TYPES);

/** What a material need not have. */
type Absent = 'content' | 'sourceUrl' | 'labels' | `_${string}`;

export function toMaterialMessage(material: Material): MaterialInput {
  const message: Required<Omit<MaterialInput, Absent>> & MaterialInput = {
    materialId: material.materialId,
    title: material.title,
    type: TYPE_NAMES[material.type],
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

/** What people write of a material, in requests and in records of an import. */
type TextMessage = Omit<
  UpdateMaterialRequest,
  'userId' | 'materialId' | 'updateMask' | 'requestId' | `_${string}`
>;

const MAX_TITLE_CODE_POINTS = 240;

/** The readers of the texts of a material. They throw INVALID_REQUEST with the field. */
export const TEXTS: { readonly [Name in keyof TextMessage]-?: (message: TextMessage) => MaterialText[Name] } =
  {
    title({ title = '' }) {
      const length = codePointLength(requireStorable('title', title));
      if (length >= 1 && length <= MAX_TITLE_CODE_POINTS) return title;
      throw invalidField('title', `must have 1 to ${MAX_TITLE_CODE_POINTS} characters.`);
    },
    content: ({ content }) => (content === undefined ? null : requireShortText('content', content)),
    sourceUrl({ sourceUrl }) {
      if (sourceUrl === undefined || isUri(requireShortText('source_url', sourceUrl)))
        return sourceUrl ?? null;
      throw invalidField(
        'source_url',
        'must be a URI with a scheme, with characters such as é, | and [ percent-encoded.',
      );
    },
    type: ({ type }) => readMaterialType(type) ?? 'simple',
    labels: ({ labels }) => readLabels('labels', labels),
  };
const TEXT_NAMES = Object.keys(TEXTS) as (keyof MaterialText)[];

/** The texts of a message, or those of them that are named. @throws INVALID_REQUEST with the field */
export function readText<Name extends keyof MaterialText = keyof MaterialText>(
  message: TextMessage,
  names: readonly Name[] = TEXT_NAMES as Name[],
): Pick<MaterialText, Name> {
  return Object.fromEntries(names.map((name) => [name, TEXTS[name](message)])) as Pick<MaterialText, Name>;
}

/** The changed texts with their new values. @throws INVALID_REQUEST */
export function readNewText(request: UpdateMaterialRequest): Partial<MaterialText> {
  const type = readMaterialType(request.type);
  const labels = request.labels.length === 0 ? undefined : request.labels;
  const given = { ...request, type, labels };
  const present = Object.fromEntries(TEXT_NAMES.map((name) => [snakeCase(name), given[name]]));
  const paths = readFieldMask(request.updateMask, present, ['content', 'source_url', 'labels']);
  if (paths.size === 0) throw invalidRequest('update_mask', 'Nothing to change was given.');
  const named = TEXT_NAMES.filter((name) => paths.has(snakeCase(name)));
  return readText(request, named);
}

export function toScheduleMessage(schedule: ScheduleAt): ScheduleInput {
  return {
    easeFactor: schedule.easeFactorHundredths / 100,
    intervalDays: schedule.intervalDays,
    repetitions: schedule.repetitions,
    nextReviewTime: toOptionalTimestamp(schedule.nextReviewTime),
  };
}

/** The fields of REVIEW_VIEW_BASIC. */
export function toReviewSummaryMessage(review: ReviewSummary): ReviewInput {
  const { reviewId, materialId, quality, reviewTime, revision } = review;
  return { reviewId, materialId, quality, reviewTime: toTimestamp(reviewTime), revision };
}

export function toReviewMessage(review: Review): ReviewInput {
  return {
    ...toReviewSummaryMessage(review),
    requestId: review.requestId ?? '',
    apiKeyId: review.apiKeyId ?? '',
    before: toScheduleMessage(review.before),
    after: toScheduleMessage(review.after),
    scheduler: toSchedulerMessage(review.scheduler),
    settingsVersion: review.settingsVersion,
    undoTime: toOptionalTimestamp(review.undo?.undoTime ?? null),
    undoActor: review.undo?.actor ?? '',
    undoRevision: review.undo?.revision ?? 0,
  };
}

export function toSnoozeMessage(snooze: ListedSnooze): SnoozeInput {
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
