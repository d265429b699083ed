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

const SHORT_COLUMNS = `m.material_id, m.title, m.type, m.ease_factor_hundredths, m.interval_days, m.repetitions,
  m.next_review_time, m.last_reviewed_time, m.revision, m.create_time, m.update_time, m.archive_time`;

/** Of scheduling.materials under the alias m. */
export const MATERIAL_COLUMNS = `${SHORT_COLUMNS}, m.content, m.source_url`;

/** The same, in which the two texts that may be long are NULL, and not read, unless the SQL `condition` holds. */
export const materialColumnsWithTextsIf = (condition: string) => `${SHORT_COLUMNS},
  CASE WHEN ${condition} THEN m.content END AS content, CASE WHEN ${condition} THEN m.source_url END AS source_url`;

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
