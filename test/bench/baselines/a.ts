// Baseline A: the monolith that people write. The key is looked up on every request, statements have no name, and a review
// is a transaction of five trips.
import { v7 as uuidV7 } from 'uuid';
import { hashKey, isWellFormedKey } from '../../../services/accounts/keys/rules.ts';
import { DEFAULT_SETTINGS, nextSchedule } from '../../../services/scheduling/reviews/scheduler.ts';
import type { Quality } from '../../../services/scheduling/reviews/sm2.ts';
import { PEPPER } from '../dataset/people.ts';
import { type ReviewJson, type Store, startMonolith } from './monolith.ts';
import {
  FIND_KEY,
  FIND_MATERIAL,
  graded,
  LIST_DUE,
  LIST_NEWEST,
  openPool,
  type Row,
  scheduleOf,
  toJson,
} from './rows.ts';

const UPDATE = `
  UPDATE scheduling.materials SET ease_factor_hundredths = $3, interval_days = $4, repetitions = $5,
    next_review_time = $6, last_reviewed_time = $7, update_time = $7, revision = $8
  WHERE user_id = $1 AND material_id = $2`;
const INSERT = `
  INSERT INTO scheduling.reviews (user_id, material_id, revision, review_id, quality, review_time,
    before_ease_factor_hundredths, before_interval_days, before_repetitions, before_next_review_time,
    after_ease_factor_hundredths, after_interval_days, after_repetitions, after_next_review_time)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`;

const pool = openPool();

const store: Store = {
  async findKey(key) {
    if (!isWellFormedKey(key)) return undefined;
    const found = await pool.query(FIND_KEY, [hashKey(key, PEPPER)]);
    const [row] = found.rows;
    return row && { userId: row.user_id, apiKeyId: row.api_key_id, scopes: row.scopes };
  },
  async listDue(userId, limit) {
    const { rows } = await pool.query<Row>(LIST_DUE, [userId, new Date(), limit]);
    return rows.map(toJson);
  },
  async listNewest(userId, limit) {
    const { rows } = await pool.query<Row>(LIST_NEWEST, [userId, limit]);
    return rows.map(toJson);
  },
  review,
};

async function review(userId: string, materialId: string, quality: Quality): Promise<ReviewJson | undefined> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const found = await client.query<Row>(`${FIND_MATERIAL} FOR UPDATE`, [userId, materialId]);
    const [row] = found.rows;
    if (row === undefined) {
      await client.query('ROLLBACK');
      return undefined;
    }
    const reviewTime = new Date();
    const after = nextSchedule(
      scheduleOf(row),
      { settings: DEFAULT_SETTINGS, history: [] },
      quality,
      reviewTime,
    );
    const schedule = [
      after.easeFactorHundredths,
      after.intervalDays,
      after.repetitions,
      after.nextReviewTime,
    ];
    await client.query(UPDATE, [userId, materialId, ...schedule, reviewTime, row.revision + 1]);
    await client.query(INSERT, [
      userId,
      materialId,
      row.revision + 1,
      uuidV7(),
      quality,
      reviewTime,
      row.ease_factor_hundredths,
      row.interval_days,
      row.repetitions,
      row.next_review_time,
      ...schedule,
    ]);
    await client.query('COMMIT');
    return {
      material: toJson(graded(row, after, reviewTime)),
      review: { quality, reviewedAt: reviewTime, previousDueAt: row.next_review_time },
    };
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  } finally {
    client.release();
  }
}

await startMonolith(store);
