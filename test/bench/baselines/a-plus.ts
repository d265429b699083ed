// Baseline A+: the same monolith by somebody who has profiled it. Keys are remembered for 30 s, statements have names, and a
// review is one read and one statement.
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { v7 as uuidV7 } from 'uuid';
import { hashKey, isWellFormedKey } from '../../../services/accounts/keys/rules.ts';
import { DEFAULT_SETTINGS, nextSchedule } from '../../../services/scheduling/reviews/scheduler.ts';
import type { Quality } from '../../../services/scheduling/reviews/sm2.ts';
import { PEPPER } from '../dataset/people.ts';
import { type Principal, type ReviewJson, type Store, startMonolith } from './monolith.ts';
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

/** Does nothing where the material has changed since it was read. */
const APPLY = `
  WITH changed AS (
    UPDATE scheduling.materials SET ease_factor_hundredths = $11, interval_days = $12, repetitions = $13,
      next_review_time = $14, last_reviewed_time = $6, update_time = $6, revision = $3
    WHERE user_id = $1 AND material_id = $2 AND revision = $3 - 1
    RETURNING revision
  )
  INSERT INTO scheduling.reviews (user_id, material_id, revision, review_id, quality, review_time,
    before_ease_factor_hundredths, before_interval_days, before_repetitions, before_next_review_time,
    after_ease_factor_hundredths, after_interval_days, after_repetitions, after_next_review_time)
  SELECT $1, $2, revision, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14 FROM changed`;

const pool = openPool();
const keys = new LRUCache<string, Principal>({ max: 10_000, ttl: 30_000 });

async function findKey(key: string): Promise<Principal | undefined> {
  const digest = createHash('sha256').update(key).digest('base64');
  const known = keys.get(digest);
  if (known !== undefined || !isWellFormedKey(key)) return known;
  const values = [hashKey(key, PEPPER)];
  const { rows } = await pool.query({ name: 'find-key', text: FIND_KEY, values });
  const [row] = rows;
  if (row === undefined) return undefined;
  const principal = { userId: row.user_id, apiKeyId: row.api_key_id, scopes: row.scopes };
  keys.set(digest, principal);
  return principal;
}

async function review(userId: string, materialId: string, quality: Quality): Promise<ReviewJson | undefined> {
  for (;;) {
    const values = [userId, materialId];
    const { rows } = await pool.query<Row>({ name: 'find', text: FIND_MATERIAL, values });
    const [row] = rows;
    if (row === undefined) return undefined;
    const reviewTime = new Date();
    const after = nextSchedule(
      scheduleOf(row),
      { settings: DEFAULT_SETTINGS, history: [] },
      quality,
      reviewTime,
    );
    const applied = await pool.query({
      name: 'apply',
      text: APPLY,
      values: [
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
        after.easeFactorHundredths,
        after.intervalDays,
        after.repetitions,
        after.nextReviewTime,
      ],
    });
    if (applied.rowCount === 0) continue;
    return {
      material: toJson(graded(row, after, reviewTime)),
      review: { quality, reviewedAt: reviewTime, previousDueAt: row.next_review_time },
    };
  }
}

const store: Store = {
  findKey,
  review,
  async listDue(userId, limit) {
    const values = [userId, new Date(), limit];
    const { rows } = await pool.query<Row>({ name: 'list-due', text: LIST_DUE, values });
    return rows.map(toJson);
  },
  async listNewest(userId, limit) {
    const { rows } = await pool.query<Row>({
      name: 'list-newest',
      text: LIST_NEWEST,
      values: [userId, limit],
    });
    return rows.map(toJson);
  },
};

await startMonolith(store);
