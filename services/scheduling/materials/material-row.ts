// The row of a material, and its column lists.
import type { Material, MaterialSummary, MaterialType } from './material.ts';

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

const SUMMARY_COLUMNS = 'm.material_id, m.title, m.next_review_time, m.create_time';
const OTHER_COLUMNS = [
  'type',
  'ease_factor_hundredths',
  'interval_days',
  'repetitions',
  'last_reviewed_time',
  'revision',
  'update_time',
  'archive_time',
];
const SHORT_COLUMNS = [SUMMARY_COLUMNS, ...OTHER_COLUMNS.map((column) => `m.${column}`)].join(', ');

/** Columns of scheduling.materials under the alias m. */
export const MATERIAL_COLUMNS = `${SHORT_COLUMNS}, m.content, m.source_url`;

/** The same, with content and source URL as NULL, and not read, unless the SQL `condition` is true. */
export const materialColumnsWithTextsIf = (condition: string) => `${SHORT_COLUMNS},
  CASE WHEN ${condition} THEN m.content END AS content, CASE WHEN ${condition} THEN m.source_url END AS source_url`;

/** Byte limits of texts in the rows of a list: no texts, or those that may be read with other lists. */
export const NO_TEXTS = -1;
export const SHORT_TEXTS = 4096;

const textsUpTo = (bytes: string) => `
  CASE WHEN octet_length(m.content) <= ${bytes} THEN m.content END AS content,
  CASE WHEN octet_length(m.source_url) <= ${bytes} THEN m.source_url END AS source_url,
  CASE WHEN ${bytes} >= 0 THEN octet_length(m.content) END AS content_bytes,
  CASE WHEN ${bytes} >= 0 THEN octet_length(m.source_url) END AS source_url_bytes`;

/**
 * The same, with a text longer than the SQL integer `bytes` as NULL, and, where any text may be read, with the lengths of both,
 * which PostgreSQL knows without reading them.
 */
export const materialColumnsWithTextsUpTo = (bytes: string) => `${SHORT_COLUMNS}, ${textsUpTo(bytes)}`;

/** The same, with NULL in all that a summary lacks where the SQL boolean `isSummary` is true. */
export const listedColumns = (bytes: string, isSummary: string) =>
  [
    SUMMARY_COLUMNS,
    ...OTHER_COLUMNS.map((column) => `CASE WHEN NOT ${isSummary} THEN m.${column} END AS ${column}`),
    textsUpTo(bytes),
  ].join(', ');

export type FoundRow = MaterialRow & { content_bytes: number | null; source_url_bytes: number | null };
type TextColumns = Pick<FoundRow, 'content' | 'source_url' | 'content_bytes' | 'source_url_bytes'>;
type SummaryRow = Pick<FoundRow, 'material_id' | 'title' | 'next_review_time' | 'create_time'> &
  TextColumns & { type: null };
/** Of `listedColumns`. */
export type ListedRow = FoundRow | SummaryRow;

/** `cutBytes`: of each material, the size of its texts where one was omitted; else 0. */
export type MaterialList<M = Material> = { materials: M[]; cutBytes: number[] };
export type ListedMaterial = Material | MaterialSummary;

export function toMaterialList(rows: readonly FoundRow[]): MaterialList {
  return { materials: rows.map(fromMaterialRow), cutBytes: rows.map(cutBytesOf) };
}

export function toListedMaterials(rows: readonly ListedRow[]): MaterialList<ListedMaterial> {
  return {
    materials: rows.map((row) => (row.type === null ? toMaterialSummary(row) : fromMaterialRow(row))),
    cutBytes: rows.map(cutBytesOf),
  };
}

function toMaterialSummary(row: SummaryRow): MaterialSummary {
  return {
    materialId: row.material_id,
    title: row.title,
    nextReviewTime: row.next_review_time,
    createTime: row.create_time,
  };
}

function cutBytesOf({ content, content_bytes, source_url, source_url_bytes }: TextColumns): number {
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
