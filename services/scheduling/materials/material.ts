// The material type: its text, its schedule, and the revision that orders its changes.
import { INITIAL_SCHEDULE, type Schedule } from '../reviews/sm2.ts';

export const MATERIAL_TYPES = ['simple', 'material', 'flashcard', 'card'] as const;
export type MaterialType = (typeof MATERIAL_TYPES)[number];

export type Material = {
  materialId: string;
  title: string;
  content: string | null;
  sourceUrl: string | null;
  type: MaterialType;
  schedule: Schedule;
  /** null: due now. */
  nextReviewTime: Date | null;
  /** null: never reviewed. */
  lastReviewedTime: Date | null;
  createTime: Date;
  updateTime: Date;
  /** null: active. */
  archiveTime: Date | null;
  /** +1 on every review, snooze and edit. */
  revision: number;
};

/** What tells a material from the others of a list, and where it stands in one by creation or by next review. */
export type MaterialSummary = Pick<Material, 'materialId' | 'title' | 'nextReviewTime' | 'createTime'>;

/** A material that is due at once. */
export function newMaterial(
  text: Pick<Material, 'title' | 'content' | 'sourceUrl' | 'type'>,
  createTime: Date,
  materialId: string,
): Material {
  return {
    materialId,
    ...text,
    schedule: INITIAL_SCHEDULE,
    nextReviewTime: createTime,
    lastReviewedTime: null,
    createTime,
    updateTime: createTime,
    archiveTime: null,
    revision: 0,
  };
}
