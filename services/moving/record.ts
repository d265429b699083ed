// Cards as the records that scheduling takes in, and how many of them make a message.
import type { MaterialRecordInput } from '../../generated/scheduling/v1/MaterialRecord.ts';
import type { MaterialType as MaterialTypeMessage } from '../../generated/scheduling/v1/MaterialType.ts';
import type { ReviewInput } from '../../generated/scheduling/v1/Review.ts';
import type { ScheduleInput } from '../../generated/scheduling/v1/Schedule.ts';
import { toTimestamp } from '../platform/instants.ts';
import type { Card, CardReview, CardSchedule, Cards, MaterialType } from './card.ts';
import type { Findings } from './findings.ts';
import { createTextSet } from './text-set.ts';

export const TYPE_MESSAGES = {
  simple: 'MATERIAL_TYPE_SIMPLE',
  material: 'MATERIAL_TYPE_MATERIAL',
  flashcard: 'MATERIAL_TYPE_FLASHCARD',
  card: 'MATERIAL_TYPE_CARD',
} as const satisfies Record<MaterialType, keyof typeof MaterialTypeMessage>;

/** Of a record: with more, the next record continues it. */
export const REVIEWS_OF_RECORD = 500;

/** One record of a card, or several where it has many reviews. */
export async function* toRecords(cards: Cards): AsyncGenerator<MaterialRecordInput> {
  for await (const card of cards) {
    const { reviews } = card;
    let first: MaterialRecordInput = { material: materialOf(card), source: card.source };
    for (let at = 0; at === 0 || at < reviews.length; at += REVIEWS_OF_RECORD) {
      const part = reviews.slice(at, at + REVIEWS_OF_RECORD).map(reviewOf);
      yield { ...first, reviews: part, continues: at + REVIEWS_OF_RECORD < reviews.length };
      first = {};
    }
  }
}

function materialOf(card: Card): NonNullable<MaterialRecordInput['material']> {
  const { schedule } = card;
  return {
    title: card.title,
    ...(card.content !== undefined && { content: card.content }),
    ...(card.sourceUrl !== undefined && { sourceUrl: card.sourceUrl }),
    type: TYPE_MESSAGES[card.type],
    labels: [...card.labels],
    archiveTime: timestamp(card.archiveMs),
    createTime: timestamp(card.createMs),
    updateTime: timestamp(card.textMs),
    lastReviewedTime: timestamp(card.lastReviewMs),
    ...(schedule !== undefined && scheduleOf(schedule)),
  };
}

function scheduleOf({ easeFactor, intervalDays, repetitions, dueMs }: CardSchedule): ScheduleInput {
  return { easeFactor, intervalDays, repetitions, nextReviewTime: timestamp(dueMs) };
}

function reviewOf({ id, timeMs, quality, before, after }: CardReview): ReviewInput {
  return {
    reviewId: id,
    quality,
    reviewTime: timestamp(timeMs),
    before: before === undefined ? null : scheduleOf(before),
    after: after === undefined ? null : scheduleOf(after),
  };
}

/** Of a material's texts: a larger one does not fit into a request of scheduling. */
const MAX_TEXTS_BYTES = 768 * 1024;

/** `records` without the materials that are too large to send, and those that came before. */
export async function* sendable(
  records: AsyncIterable<MaterialRecordInput>,
  findings: Findings,
): AsyncGenerator<MaterialRecordInput> {
  const seen = createTextSet();
  let reason: string | undefined;
  for await (const record of records) {
    const { material, source = '', reviews = [] } = record;
    if (material) {
      const { title = '', content, sourceUrl, labels = [] } = material;
      const keys = [material.materialId ?? '', source].filter((key) => key !== '');
      const bytes = Buffer.byteLength([title, content, sourceUrl, source, ...labels].join());
      reason = keys.some((key) => seen.has(key)) ? 'it is there twice' : undefined;
      if (bytes > MAX_TEXTS_BYTES) reason = 'it has more than 768 KiB of text';
      for (const key of keys) seen.add(key);
      if (reason !== undefined) findings.add('material', reason, source || title);
    }
    if (reason === undefined) yield record;
    else findings.add('review', `${reason} (its reviews)`, '', reviews.length);
  }
}

const timestamp = (ms: number | undefined) => (ms === undefined ? null : toTimestamp(new Date(ms)));

/** About how large a record is on the wire, in bytes. */
export function sizeOf({ material, reviews = [], snoozes = [] }: MaterialRecordInput): number {
  const texts = [material?.title, material?.content, material?.sourceUrl];
  const length = texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
  return 200 + 2 * length + 120 * reviews.length + 500 * snoozes.length;
}
