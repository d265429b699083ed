// Maps between materials and the messages of scheduling.v1.
import type { DueState as DueStateMessage } from '../../../generated/scheduling/v1/DueState.ts';
import type { MaterialInput } from '../../../generated/scheduling/v1/Material.ts';
import type { MaterialOrder as MaterialOrderMessage } from '../../../generated/scheduling/v1/MaterialOrder.ts';
import type { MaterialState as MaterialStateMessage } from '../../../generated/scheduling/v1/MaterialState.ts';
import type { MaterialType as MaterialTypeMessage } from '../../../generated/scheduling/v1/MaterialType.ts';
import type { MaterialView as MaterialViewMessage } from '../../../generated/scheduling/v1/MaterialView.ts';
import { toOptionalTimestamp, toTimestamp } from '../../platform/protobuf/timestamps.ts';
import { fromEnum, toScheduleNumbers, type View } from '../mapper.ts';
import type { Material, MaterialSummary, MaterialType } from './material.ts';
import type { MaterialFilter } from './material-lists-repository.ts';
import type { MaterialSort } from './sorted-materials-repository.ts';

/** undefined if absent. */
export const fromMaterialType = fromEnum<MaterialTypeMessage, MaterialType | undefined>('type', {
  MATERIAL_TYPE_UNSPECIFIED: undefined,
  MATERIAL_TYPE_SIMPLE: 'simple',
  MATERIAL_TYPE_MATERIAL: 'material',
  MATERIAL_TYPE_FLASHCARD: 'flashcard',
  MATERIAL_TYPE_CARD: 'card',
});

const MESSAGE_OF_TYPE: Record<MaterialType, MaterialTypeMessage> = {
  simple: 'MATERIAL_TYPE_SIMPLE',
  material: 'MATERIAL_TYPE_MATERIAL',
  flashcard: 'MATERIAL_TYPE_FLASHCARD',
  card: 'MATERIAL_TYPE_CARD',
};

export const fromMaterialState = fromEnum<MaterialStateMessage, MaterialFilter['state']>('state', {
  MATERIAL_STATE_UNSPECIFIED: 'active',
  MATERIAL_STATE_ACTIVE: 'active',
  MATERIAL_STATE_ARCHIVED: 'archived',
  MATERIAL_STATE_ANY: 'any',
});

/** undefined: no filter. */
export const fromDueState = fromEnum<DueStateMessage, boolean | undefined>('due', {
  DUE_STATE_UNSPECIFIED: undefined,
  DUE_STATE_DUE: true,
  DUE_STATE_NOT_DUE: false,
});

export const fromMaterialOrder = fromEnum<MaterialOrderMessage, MaterialSort | 'newest'>('order', {
  MATERIAL_ORDER_UNSPECIFIED: 'newest',
  MATERIAL_ORDER_NEWEST: 'newest',
  MATERIAL_ORDER_NEXT_REVIEW: 'nextReview',
  MATERIAL_ORDER_LAST_REVIEW: 'lastReview',
  MATERIAL_ORDER_EASE: 'ease',
});

export const fromMaterialView = fromEnum<MaterialViewMessage, View | 'summary'>('view', {
  MATERIAL_VIEW_UNSPECIFIED: 'full',
  MATERIAL_VIEW_BASIC: 'basic',
  MATERIAL_VIEW_FULL: 'full',
  MATERIAL_VIEW_SUMMARY: 'summary',
});

export function toMaterialMessage(material: Material | MaterialSummary): MaterialInput {
  const { materialId, title } = material;
  const nextReviewTime = toOptionalTimestamp(material.nextReviewTime);
  if (!('schedule' in material)) return { materialId, title, nextReviewTime };
  const message: MaterialInput = {
    materialId,
    title,
    type: MESSAGE_OF_TYPE[material.type],
    ...toScheduleNumbers(material.schedule),
    nextReviewTime,
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
