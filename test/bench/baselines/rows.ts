// What both baselines read from the tables, and how it becomes the API's shape.
import { Pool } from 'pg';
import type { Material } from '../../../services/scheduling/materials/material.ts';

export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Dates: the response schemas print them. */
export type MaterialJson = {
  id: string;
  title: string;
  content: string | null;
  sourceUrl: string | null;
  type: string;
  ef: number;
  interval: number;
  repetitions: number;
  nextReview: Date | null;
  lastReviewed: Date | null;
  createdAt: Date;
  updatedAt: Date;
};

export type Row = {
  material_id: string;
  title: string;
  content: string | null;
  source_url: string | null;
  type: Material['type'];
  ease_factor_hundredths: number;
  interval_days: number;
  repetitions: number;
  next_review_time: Date | null;
  last_reviewed_time: Date | null;
  revision: number;
  create_time: Date;
  update_time: Date;
};

const COLUMNS = `material_id, title, content, source_url, type, ease_factor_hundredths, interval_days, repetitions,
  next_review_time, last_reviewed_time, revision, create_time, update_time`;

export const FIND_KEY = `
  SELECT user_id, api_key_id, scopes FROM accounts.api_keys WHERE key_hash = $1 AND revoke_time IS NULL`;
export const LIST_DUE = `
  SELECT ${COLUMNS} FROM scheduling.materials
  WHERE user_id = $1 AND archive_time IS NULL AND (next_review_time IS NULL OR next_review_time <= $2)
  ORDER BY next_review_time NULLS FIRST, material_id LIMIT $3`;
export const LIST_NEWEST = `
  SELECT ${COLUMNS} FROM scheduling.materials
  WHERE user_id = $1 AND archive_time IS NULL ORDER BY create_time DESC, material_id DESC LIMIT $2`;
export const FIND_MATERIAL = `
  SELECT ${COLUMNS} FROM scheduling.materials WHERE user_id = $1 AND material_id = $2`;

/** Waits as bounded as the service's. */
export function openPool(): Pool {
  return new Pool({
    ...(process.env.DATABASE_URL !== undefined && { connectionString: process.env.DATABASE_URL }),
    max: 16,
    connectionTimeoutMillis: 500,
    statement_timeout: 1500,
    lock_timeout: 500,
    idle_in_transaction_session_timeout: 3000,
  });
}

export function toJson(row: Row): MaterialJson {
  return {
    id: row.material_id,
    title: row.title,
    content: row.content,
    sourceUrl: row.source_url,
    type: row.type,
    ef: row.ease_factor_hundredths / 100,
    interval: row.interval_days,
    repetitions: row.repetitions,
    nextReview: row.next_review_time,
    lastReviewed: row.last_reviewed_time,
    createdAt: row.create_time,
    updatedAt: row.update_time,
  };
}

/** What SM-2 needs to know of a row. */
export const scheduleOf = (row: Row) => ({
  easeFactorHundredths: row.ease_factor_hundredths,
  intervalDays: row.interval_days,
  repetitions: row.repetitions,
});

/** The row as it is after a grade. */
export function graded(
  row: Row,
  after: { easeFactorHundredths: number; intervalDays: number; repetitions: number; nextReviewTime: Date },
  reviewTime: Date,
): Row {
  return {
    ...row,
    ease_factor_hundredths: after.easeFactorHundredths,
    interval_days: after.intervalDays,
    repetitions: after.repetitions,
    next_review_time: after.nextReviewTime,
    last_reviewed_time: reviewTime,
    update_time: reviewTime,
    revision: row.revision + 1,
  };
}
