// A material as PostgreSQL gives it.
import type { Material, MaterialType } from '../domain/material.ts';

export type MaterialRow = {
  material_id: string;
  title: string;
  content: string | null;
  source_url: string | null;
  type: MaterialType;
  ease_factor_hundredths: number;
  interval_days: number;
  repetitions: number;
  next_review_time: Date | null;
  last_reviewed_time: Date | null;
  revision: number;
  create_time: Date;
  update_time: Date;
  archive_time: Date | null;
};

/** Of scheduling.materials under the alias m. */
export const MATERIAL_COLUMNS = `m.material_id, m.title, m.content, m.source_url, m.type, m.ease_factor_hundredths,
  m.interval_days, m.repetitions, m.next_review_time, m.last_reviewed_time, m.revision, m.create_time, m.update_time,
  m.archive_time`;

export function toMaterial(row: MaterialRow): Material {
  return {
    materialId: row.material_id,
    title: row.title,
    content: row.content,
    sourceUrl: row.source_url,
    type: row.type,
    schedule: {
      easeFactorHundredths: row.ease_factor_hundredths,
      intervalDays: row.interval_days,
      repetitions: row.repetitions,
    },
    nextReviewTime: row.next_review_time,
    lastReviewedTime: row.last_reviewed_time,
    createTime: row.create_time,
    updateTime: row.update_time,
    archiveTime: row.archive_time,
    revision: row.revision,
  };
}
