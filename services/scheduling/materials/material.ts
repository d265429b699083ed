// The material: its text, its schedule, and the revision that orders its changes.
import { INITIAL_SCHEDULE, type Schedule } from '../reviews/sm2.ts';

export const MATERIAL_TYPES = ['simple', 'material', 'flashcard', 'card'] as const;
export type MaterialType = (typeof MATERIAL_TYPES)[number];

/** What people write. null: not given. */
export type MaterialText = {
  title: string;
  content: string | null;
  sourceUrl: string | null;
  type: MaterialType;
  /** In the order they were given. */
  labels: readonly string[] | null;
};

export type Material = MaterialText &
  Schedule & {
    materialId: string;
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

/** A material that is due at once. */
export function newMaterial(
  text: Pick<MaterialText, 'title'> & Partial<MaterialText>,
  createTime: Date,
  materialId: string,
): Material {
  return {
    materialId,
    content: null,
    sourceUrl: null,
    type: 'simple',
    labels: null,
    ...text,
    ...INITIAL_SCHEDULE,
    nextReviewTime: createTime,
    lastReviewedTime: null,
    createTime,
    updateTime: createTime,
    archiveTime: null,
    revision: 0,
  };
}

export type MaterialState = 'active' | 'archived' | 'any';
export type MaterialSort = 'newest' | 'nextReview' | 'lastReview' | 'ease';

/** The filter of a list; undefined or null: any. `isDue` is evaluated at `now`. `labels`: one of them, or of those below. */
export type MaterialFilter = {
  state: MaterialState;
  labels: readonly string[] | null;
  type: MaterialType | undefined;
  isDue: boolean | undefined;
  onlyLeeches?: boolean;
  now: Date;
};
