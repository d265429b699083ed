// Records of an export, as scheduling sends them.
import type { MaterialRecord } from '../../generated/scheduling/v1/MaterialRecord.ts';
import type { Review } from '../../generated/scheduling/v1/Review.ts';
import type { SettingsVersion } from '../../generated/scheduling/v1/SettingsVersion.ts';
import type { Exported } from '../../services/moving/jsonl/write.ts';

/** Of a text such as "2026-05-01T10:00:00.000Z". */
export const at = (text: string) => {
  const ms = Date.parse(text);
  return { seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1_000_000 };
};

export async function* recordsOf(records: readonly MaterialRecord[]): AsyncGenerator<MaterialRecord> {
  yield* records;
}

/** The messages of an export. */
export async function* exportOf(
  records: readonly MaterialRecord[],
  settings: readonly SettingsVersion[] = [],
): AsyncGenerator<Exported> {
  for (const version of settings) yield { settings: version };
  for (const wholeMaterial of records) yield { wholeMaterial };
}

const BEGUN = at('2026-04-01T10:00:00.123Z');
const NEW = { easeFactor: 2.5, intervalDays: 0, repetitions: 0, nextReviewTime: null };

/** A material that was never reviewed. */
export const NEW_RECORD: MaterialRecord = {
  material: {
    materialId: '0198f7c2-0000-7000-8000-000000000002',
    title: 'new <b>',
    content: '',
    type: 'MATERIAL_TYPE_SIMPLE',
    ...NEW,
    lastReviewedTime: null,
    createTime: BEGUN,
    updateTime: BEGUN,
    archiveTime: null,
    revision: 0,
    labels: [],
  },
  source: '',
  baseline: null,
  reviews: [],
  snoozes: [],
  continues: false,
};

const REVIEW: Review = {
  reviewId: '0198f7c2-0000-7000-8000-000000000003',
  materialId: '0198f7c2-0000-7000-8000-000000000001',
  quality: 3,
  reviewTime: at('2026-05-01T10:00:00.000Z'),
  before: {
    easeFactor: 2.5,
    intervalDays: 1,
    repetitions: 1,
    nextReviewTime: at('2026-05-01T09:00:00.000Z'),
  },
  after: {
    easeFactor: 2.36,
    intervalDays: 6,
    repetitions: 2,
    nextReviewTime: at('2026-05-07T10:00:00.000Z'),
  },
  revision: 1,
  requestId: 'request-1',
  apiKeyId: '',
  undoTime: null,
  undoActor: '',
  undoRevision: 0,
  scheduler: 'SCHEDULER_SM2',
  settingsVersion: 0,
};

/** An imported material with two reviews and a snooze. */
export const REVIEWED_RECORD: MaterialRecord = {
  material: {
    materialId: REVIEW.materialId,
    title: 'reviewed',
    content: 'two  lines\n\n\n  of "text" & <more>',
    sourceUrl: 'https://a.example/',
    type: 'MATERIAL_TYPE_FLASHCARD',
    easeFactor: 2.36,
    intervalDays: 6,
    repetitions: 2,
    nextReviewTime: at('2026-05-08T04:00:00.000Z'),
    lastReviewedTime: REVIEW.reviewTime,
    createTime: at('2026-03-01T10:00:00.000Z'),
    updateTime: at('2026-05-02T10:00:00.000Z'),
    archiveTime: at('2026-05-02T10:00:00.000Z'),
    revision: 2,
    labels: ['Spanish/Verbs', 'hard'],
  },
  source: 'anki:g:0',
  baseline: {
    importTime: at('2026-04-30T10:00:00.000Z'),
    sourceUpdateTime: null,
    textDigest: 'ab'.repeat(32),
    revision: 0,
    schedule: { ...NEW, intervalDays: 1, repetitions: 1, nextReviewTime: at('2026-05-01T09:00:00.000Z') },
    lastReviewedTime: at('2026-04-30T09:00:00.000Z'),
  },
  reviews: [
    {
      ...REVIEW,
      reviewId: '0198f7c2-0000-7000-8000-000000000004',
      quality: 4,
      reviewTime: at('2026-04-30T09:00:00.000Z'),
      before: NEW,
      after: REVIEW.before,
      revision: 0,
    },
    REVIEW,
  ],
  snoozes: [
    {
      snooze: {
        snoozeId: '0198f7c2-0000-7000-8000-000000000005',
        materialIds: [],
        snoozeUntilTime: at('2026-05-08T04:00:00.000Z'),
        reason: 'ill',
        createTime: at('2026-05-02T10:00:00.000Z'),
        actor: 'rest',
        requestId: '',
        cancelTime: null,
        cancellableMaterials: 0,
        movedMaterials: 0,
        apiKeyId: '0198f7c2-0000-7000-8000-000000000006',
        materialCount: 0,
        spreadDays: 0,
      },
      position: 1,
      revision: 2,
      beforeNextReviewTime: at('2026-05-07T10:00:00.000Z'),
      afterNextReviewTime: at('2026-05-08T04:00:00.000Z'),
    },
  ],
  continues: false,
};

/** All that a writer yields. */
export async function textOf(parts: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const part of parts) text += part;
  return text;
}
