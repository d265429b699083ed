// The row of a material, and its column lists.
import type { Material, MaterialType } from './material.ts';

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

/** When m is due, as the index of due materials has it: without a next review time, always. */
export const DUE_TIME = "coalesce(m.next_review_time, '-infinity')";

const SHORT_COLUMNS = `m.material_id, m.title, m.type, m.ease_factor_hundredths, m.interval_days, m.repetitions,
  m.next_review_time, m.last_reviewed_time, m.revision, m.create_time, m.update_time, m.archive_time`;

/** Columns of scheduling.materials under the alias m. */
export const MATERIAL_COLUMNS = `${SHORT_COLUMNS}, m.content, m.source_url`;

/** The same, with content and source URL as NULL, and not read, unless the SQL `condition` is true. */
export const materialColumnsWithTextsIf = (condition: string) => `${SHORT_COLUMNS},
  CASE WHEN ${condition} THEN m.content END AS content, CASE WHEN ${condition} THEN m.source_url END AS source_url`;

/** Byte limits of texts in the rows of a list: no texts, or those that may be read with other lists. */
export const NO_TEXTS = -1;
export const SHORT_TEXTS = 4096;

/**
 * The same, with a text longer than the SQL integer `bytes` as NULL, and with the lengths of both, which PostgreSQL knows without
 * reading the texts.
 */
export const materialColumnsWithTextsUpTo = (bytes: string) => `${SHORT_COLUMNS},
  CASE WHEN octet_length(m.content) <= ${bytes} THEN m.content END AS content,
  CASE WHEN octet_length(m.source_url) <= ${bytes} THEN m.source_url END AS source_url,
  octet_length(m.content) AS content_bytes, octet_length(m.source_url) AS source_url_bytes`;

export type ListedRow = MaterialRow & { content_bytes: number | null; source_url_bytes: number | null };
/** `cutBytes`: of each material, the size of its texts where one was omitted; else 0. */
export type MaterialList = { materials: Material[]; cutBytes: number[] };

export function toMaterialList(rows: readonly ListedRow[]): MaterialList {
  return { materials: rows.map(fromMaterialRow), cutBytes: rows.map(cutBytesOf) };
}

function cutBytesOf({ content, content_bytes, source_url, source_url_bytes }: ListedRow): number {
  const isCut =
    (content === null && content_bytes !== null) || (source_url === null && source_url_bytes !== null);
  return isCut ? (content_bytes ?? 0) + (source_url_bytes ?? 0) : 0;
}

export function fromMaterialRow(row: MaterialRow): Material {
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
