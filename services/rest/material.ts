// A material of v1: its schemas, an example, and how it becomes one of scheduling's messages and is made from one.
import { type Static, Type } from 'typebox';
import type { Material as MaterialMessage } from '../../generated/scheduling/v1/Material.ts';
import { isoTextOf, optionalIsoTextOf } from '../platform/instants.ts';
import { enumName } from '../platform/protobuf/enums.ts';
import { dateTime, literals, nullableDateTime, orNull, STORABLE } from './schema-types.ts';

const MATERIAL_TYPES = ['simple', 'material', 'flashcard', 'card'] as const;
const MaterialTypeSchema = literals(...MATERIAL_TYPES);

export const MaterialSchema = Type.Object(
  {
    id: Type.String({ description: 'Identifier.' }),
    title: Type.String(),
    content: orNull<string>(Type.String(), 'Body text.'),
    sourceUrl: orNull<string>(Type.String({ format: 'uri' }), 'Where it comes from.'),
    type: MaterialTypeSchema,
    ef: Type.Number({
      description: 'Ease factor of SM-2, a whole number of hundredths, 1.3 or more; 2.5 at first.',
    }),
    interval: Type.Integer({
      description: 'Days between the latest review and the next; 0 before the first.',
    }),
    repetitions: Type.Integer({ description: 'Reviews in a row graded 3 or better.' }),
    nextReview: nullableDateTime('When it is next due; null: now.'),
    lastReviewed: nullableDateTime('When it was last reviewed; null: never.'),
    createdAt: dateTime('When it was created.'),
    updatedAt: dateTime('When it last changed, such as by a review, a snooze or an edit.'),
  },
  { title: 'Material' },
);
export type Material = Static<typeof MaterialSchema>;

export const CreateMaterialRequestSchema = Type.Object(
  {
    title: Type.String({
      minLength: 1,
      maxLength: 240,
      pattern: STORABLE,
      examples: ['The forgetting curve'],
    }),
    content: Type.Optional(Type.String({ pattern: STORABLE, description: 'Body text.' })),
    sourceUrl: Type.Optional(
      Type.String({
        format: 'uri',
        description: 'A URI with a scheme.',
        examples: ['https://example.com/curve'],
      }),
    ),
    type: Type.Optional({ ...MaterialTypeSchema, description: 'Without it: simple.' }),
  },
  { title: 'CreateMaterialRequest' },
);

type CreateMaterialRequest = Static<typeof CreateMaterialRequestSchema>;

/** An example of a request, and of the material that it makes. */
export const CREATE: Required<CreateMaterialRequest> = {
  title: 'The forgetting curve',
  content: 'Without review, most of what is learned is lost within days.',
  sourceUrl: 'https://example.com/curve',
  type: 'flashcard',
};
export const NEW: Material = {
  id: '019ab1f4-7c3e-7d10-a2b5-3f6e8d9c0b1a',
  ...CREATE,
  ef: 2.5,
  interval: 0,
  repetitions: 0,
  nextReview: '2026-11-23T14:00:00.000Z',
  lastReviewed: null,
  createdAt: '2026-11-23T14:00:00.000Z',
  updatedAt: '2026-11-23T14:00:00.000Z',
};

const TYPE_BY_MESSAGE = new Map(MATERIAL_TYPES.map((type) => [toTypeMessage(type), type]));

function toTypeMessage(type: Material['type']): MaterialMessage['type'] {
  return enumName('MATERIAL_TYPE', type);
}

/** The fields of a new material. They are named one by one, since a body can have more than these. */
export function toNewMessage({ title, content, sourceUrl, type = 'simple' }: CreateMaterialRequest) {
  return {
    title,
    type: toTypeMessage(type),
    ...(content !== undefined && { content }),
    ...(sourceUrl !== undefined && { sourceUrl }),
  };
}

export function toMaterial(message: MaterialMessage | null): Material {
  const type = message === null ? undefined : TYPE_BY_MESSAGE.get(message.type);
  if (message === null || type === undefined) throw new Error('scheduling returned an incomplete material');
  return {
    id: message.materialId,
    title: message.title,
    content: message.content ?? null,
    sourceUrl: message.sourceUrl ?? null,
    type,
    ef: message.easeFactor,
    interval: message.intervalDays,
    repetitions: message.repetitions,
    nextReview: optionalIsoTextOf(message.nextReviewTime),
    lastReviewed: optionalIsoTextOf(message.lastReviewedTime),
    createdAt: isoTextOf(message.createTime, 'create_time'),
    updatedAt: isoTextOf(message.updateTime, 'update_time'),
  };
}
