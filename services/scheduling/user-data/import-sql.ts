// The SQL of imports: what is there, and writes of many materials with all that belongs to them.
import { partsOf } from '../../platform/parts.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { Material } from '../materials/material.ts';
import { searchText } from '../materials/search-text.ts';
import type { Review, Undo } from '../reviews/review.ts';
import type { ScheduleAt } from '../reviews/sm2.ts';
import {
  COLUMN_TYPES,
  columnsBut,
  fieldOf,
  lockLearner,
  MARKED_REVIEWS,
  MAX_REVISION,
  REVIEW_COLUMNS,
  type ReviewRow,
  toReview,
} from '../rows.ts';
import { type Changed, type Known, secondOf } from './decide.ts';
import type { Baseline, WholeMaterial, WholeSnooze } from './record.ts';
import { BASELINE_COLUMNS } from './sql.ts';

/**
 * Waits at most 10 s for another import of the user. Disables sequential scans: a plan made while a table was empty
 * would otherwise scan the table for each batch.
 */
const SETTINGS = {
  text: `SELECT set_config('lock_timeout', '10s', true), set_config('enable_seqscan', 'off', true)`,
  values: [],
};
/** As `SHARE_USER`, and one import of a user at a time. */
const LOCK = `
  SELECT pg_advisory_xact_lock_shared(scheduling.user_lock($1)), pg_advisory_xact_lock(scheduling.user_lock($1) # 1), count(*)
  FROM scheduling.deleted_users WHERE user_id = $1`;

/** Until the end of the transaction: no other import of the user, and no deletion. @returns false if the user's data were deleted. */
export async function lockForImport(transaction: Queryable, userId: string): Promise<boolean> {
  await transaction.query(SETTINGS);
  return lockLearner(transaction, userId, LOCK);
}

type KnownRow = Pick<Known, 'materialId' | 'source' | 'updateTime'> &
  Baseline & { reviewIds: string | null; timesHere: Date[] };

/**
 * By source: with the IDs of the reviews made elsewhere, and the times of the others. By ID: with the IDs of all
 * reviews, and no times. Each look-up has an order that only the right index provides: otherwise, for a table that
 * seems to be empty, the planner may take another index, and read all of the user's rows for each material.
 */
const KNOWN = `
  SELECT m.material_id AS "materialId", m.update_time AS "updateTime", coalesce(b.source, '') AS source,
         ${BASELINE_COLUMNS},
         (SELECT string_agg(ordered.review_id::text, ',') FROM (
            SELECT r.review_id FROM scheduling.reviews r
            WHERE r.user_id = $1 AND r.material_id = m.material_id
              AND r.revision <= CASE WHEN asked.is_own THEN ${MAX_REVISION} ELSE 0 END
            ORDER BY r.revision) AS ordered) AS "reviewIds",
         ARRAY(
            SELECT r.review_time FROM scheduling.reviews r
            WHERE r.user_id = $1 AND r.material_id = m.material_id
              AND r.revision > CASE WHEN asked.is_own THEN ${MAX_REVISION} ELSE 0 END
            ORDER BY r.revision) AS "timesHere"
  FROM (
    SELECT own.material_id, true AS is_own FROM unnest($2::uuid[]) AS own (material_id)
    UNION ALL
    SELECT known.material_id, false
    FROM unnest($3::text[]) AS given (source) CROSS JOIN LATERAL (
      SELECT i.material_id FROM scheduling.imported_materials i
      WHERE i.user_id = $1 AND i.source BETWEEN given.source AND given.source ORDER BY i.source LIMIT 1
    ) known
  ) AS asked
  CROSS JOIN LATERAL (
    SELECT m.material_id, m.update_time FROM scheduling.materials m
    WHERE m.user_id = $1 AND m.material_id = asked.material_id LIMIT 1
  ) m
  LEFT JOIN LATERAL (
    SELECT b.* FROM scheduling.imported_materials b
    WHERE b.user_id = $1 AND b.material_id BETWEEN asked.material_id AND asked.material_id
    ORDER BY b.material_id LIMIT 1
  ) b ON true
  ORDER BY asked.is_own`;

/** The user's materials of these IDs or sources. */
export async function findKnown(
  transaction: Queryable,
  userId: string,
  { materialIds, sources }: { materialIds: readonly string[]; sources: readonly string[] },
): Promise<Known[]> {
  const values = [userId, materialIds, sources];
  const rows = await transaction.query<KnownRow>({ name: 'find-known', text: KNOWN, values });
  return rows.map(({ materialId, source, updateTime, reviewIds, timesHere, ...baseline }) => ({
    materialId,
    source,
    updateTime,
    baseline: source === '' ? null : baseline,
    reviewIds: new Set(reviewIds?.split(',')),
    secondsHere: new Set(timesHere.map(secondOf)),
  }));
}

const PAST_REVIEWS = `
  SELECT ${REVIEW_COLUMNS} FROM ${MARKED_REVIEWS}
  WHERE m.user_id = $1 AND m.material_id = ANY($2::uuid[]) AND m.revision <= 0`;
const REVIEWED_HERE = `
  SELECT DISTINCT ON (m.material_id) ${REVIEW_COLUMNS} FROM ${MARKED_REVIEWS}
  WHERE m.user_id = $1 AND m.material_id = ANY($2::uuid[]) AND m.revision > 0 AND u.review_id IS NULL
  ORDER BY m.material_id, m.revision DESC`;

/** Of locked materials: the reviews made elsewhere, and the latest review made here that counts. */
export async function readHistoriesOf(
  transaction: Queryable,
  userId: string,
  materialIds: readonly string[],
): Promise<{ pastReviews: Map<string, Review[]>; reviewedHere: Map<string, Review> }> {
  const values = [userId, materialIds];
  const past = await transaction.query<ReviewRow>({ name: 'read-past-reviews', text: PAST_REVIEWS, values });
  const here = await transaction.query<ReviewRow>({
    name: 'find-reviewed-here',
    text: REVIEWED_HERE,
    values,
  });
  return {
    pastReviews: Map.groupBy(past.map(toReview), ({ materialId }) => materialId),
    reviewedHere: new Map(here.map((row) => [row.materialId, toReview(row)])),
  };
}

/** A column of new rows: its name, its type, and its value of a row. */
type Column<R> = readonly [name: string, type: string, cell: (row: R) => unknown];

/** The parameter of a column. pg would escape each element of an array, which only texts need. */
function arrayOf<R>([, type, cell]: Column<R>, rows: readonly R[]): unknown[] | string {
  const cells = rows.map(cell);
  return type === 'text' || type === 'json' ? cells : `{${cells.map((each) => each ?? 'NULL').join()}}`;
}

/**
 * Returns a function that inserts rows of a user, with one array parameter per column. `select`: expressions for the
 * columns, in order; default: the columns. Citus reads the arrays on the coordinator, and writes to the user's node.
 */
function inserter<R>(table: string, columns: readonly Column<R>[], { conflict = '', select = '' } = {}) {
  const names = columns.map(([name]) => name).join(', ');
  const arrays = columns.map(([, type], index) => `$${index + 2}::${type}[]`).join(', ');
  const text = `
    INSERT INTO scheduling.${table} (user_id, ${names}) SELECT $1, ${select || names}
    FROM unnest(${arrays}) AS given (${names}) ${conflict}`;
  return async (transaction: Queryable, userId: string, rows: readonly R[]): Promise<void> => {
    if (rows.length === 0) return;
    const values = [userId, ...columns.map((column) => arrayOf(column, rows))];
    await transaction.query({ name: `import-${table}`, text, values });
  };
}

/** SQL: updates `columns` of rows that exist. */
function onConflict(key: string, columns: readonly string[]): string {
  const changes = columns.filter((name) => name !== key).map((name) => `${name} = excluded.${name}`);
  return `ON CONFLICT (user_id, ${key}) DO UPDATE SET ${changes.join(', ')}`;
}

/** Arrays of arrays must have as many elements each, so that labels come as JSON. */
const LABELS = 'CASE WHEN labels IS NOT NULL THEN ARRAY(SELECT json_array_elements_text(labels)) END';
const toJson = (labels: readonly string[] | null) => (labels === null ? null : JSON.stringify(labels));
const iso = (time: Date | null) => time?.toISOString() ?? null;

const SCHEDULE: readonly Column<ScheduleAt>[] = [
  ['ease_factor_hundredths', 'integer', (schedule) => schedule.easeFactorHundredths],
  ['interval_days', 'integer', (schedule) => schedule.intervalDays],
  ['repetitions', 'integer', (schedule) => schedule.repetitions],
  ['next_review_time', 'timestamptz', (schedule) => iso(schedule.nextReviewTime)],
];
const scheduleOf = <R>(of: (row: R) => ScheduleAt, prefix = ''): Column<R>[] =>
  SCHEDULE.map(([name, type, cell]) => [`${prefix}${name}`, type, (row: R) => cell(of(row))]);

const MATERIAL = columnsBut('create_time').map((name): Column<Material> => {
  if (name === 'labels') return [name, 'json', ({ labels }) => toJson(labels)];
  const field = fieldOf(name);
  const cell = (value: unknown) => (value instanceof Date ? iso(value) : value);
  return [name, COLUMN_TYPES[name], (material) => cell(material[field])];
});
const CREATED: Column<Material> = ['create_time', 'timestamptz', ({ createTime }) => iso(createTime)];

const NAMES = MATERIAL.map(([name]) => name);
const storeMaterials = inserter('materials', [CREATED, ...MATERIAL], {
  select: ['create_time', ...NAMES].map((name) => (name === 'labels' ? LABELS : name)).join(', '),
  conflict: onConflict('material_id', NAMES),
});

const SEARCHED = ['title', 'content', 'source_url'];
const storeSearch = inserter<Material>(
  'material_search',
  [
    ['material_id', 'uuid', ({ materialId }) => materialId],
    CREATED,
    ['title', 'text', ({ title }) => title],
    ['content', 'text', ({ content }) => content ?? ''],
    ['source_url', 'text', ({ sourceUrl }) => sourceUrl ?? ''],
  ],
  {
    select: `material_id, create_time, ${SEARCHED.map(searchText).join(', ')}`,
    conflict: onConflict('material_id', SEARCHED),
  },
);

type Labelled = { materialId: string; label: string };
const insertLabels = inserter<Labelled>('material_labels', [
  ['material_id', 'uuid', ({ materialId }) => materialId],
  ['label', 'text', ({ label }) => label],
]);

type BaselineOf = { materialId: string; source: string; baseline: Baseline };
const BASELINE: readonly Column<BaselineOf>[] = [
  ['material_id', 'uuid', ({ materialId }) => materialId],
  ['source', 'text', ({ source }) => source],
  ['import_time', 'timestamptz', ({ baseline }) => iso(baseline.importTime)],
  ['source_update_time', 'timestamptz', ({ baseline }) => iso(baseline.sourceUpdateTime)],
  ['text_digest', 'text', ({ baseline }) => baseline.textDigest],
  ['revision', 'integer', ({ baseline }) => baseline.revision],
  ...scheduleOf(({ baseline }: BaselineOf) => baseline),
  ['last_reviewed_time', 'timestamptz', ({ baseline }) => iso(baseline.lastReviewedTime)],
];
const BASELINE_NAMES = BASELINE.map(([name]) => name);
const asGiven = (name: string) => (name === 'text_digest' ? "decode(text_digest, 'hex')" : name);
const storeBaselines = inserter('imported_materials', BASELINE, {
  select: BASELINE_NAMES.map(asGiven).join(', '),
  conflict: onConflict('source', BASELINE_NAMES),
});

const insertReviews = inserter<Review>('reviews', [
  ['material_id', 'uuid', ({ materialId }) => materialId],
  ['revision', 'integer', ({ revision }) => revision],
  ['review_id', 'uuid', ({ reviewId }) => reviewId],
  ['quality', 'smallint', ({ quality }) => quality],
  ['review_time', 'timestamptz', ({ reviewTime }) => iso(reviewTime)],
  ...scheduleOf(({ before }: Review) => before, 'before_'),
  ...scheduleOf(({ after }: Review) => after, 'after_'),
  ['x_request_id', 'text', ({ requestId }) => requestId],
  ['api_key_id', 'uuid', ({ apiKeyId = null }) => apiKeyId],
  ['scheduler', 'text', ({ scheduler }) => scheduler],
  ['settings_version', 'integer', ({ settingsVersion }) => settingsVersion],
]);

/** In an edited file, the ID may be that of another review. */
const insertUndone = inserter<Review & { undo: Undo }>(
  'undone_reviews',
  [
    ['review_id', 'uuid', ({ reviewId }) => reviewId],
    ['material_id', 'uuid', ({ materialId }) => materialId],
    ['revision', 'integer', ({ revision }) => revision],
    ['undo_revision', 'integer', ({ undo }) => undo.revision],
    ['undo_time', 'timestamptz', ({ undo }) => iso(undo.undoTime)],
    ['actor', 'text', ({ undo }) => undo.actor],
    ['x_request_id', 'text', () => ''],
  ],
  { conflict: 'ON CONFLICT (user_id, review_id) DO NOTHING' },
);

const insertSnoozes = inserter<WholeSnooze>(
  'snoozes',
  [
    ['snooze_id', 'uuid', ({ snoozeId }) => snoozeId],
    ['snooze_until_time', 'timestamptz', ({ snoozeUntilTime }) => iso(snoozeUntilTime)],
    ['reason', 'text', ({ reason }) => reason],
    ['create_time', 'timestamptz', ({ createTime }) => iso(createTime)],
    ['actor', 'text', ({ actor }) => actor],
    ['x_request_id', 'text', ({ requestId }) => requestId],
    ['api_key_id', 'uuid', ({ apiKeyId }) => apiKeyId],
    ['cancel_time', 'timestamptz', ({ cancelTime }) => iso(cancelTime)],
    ['spread_days', 'smallint', ({ spreadDays }) => spreadDays],
  ],
  { conflict: 'ON CONFLICT (user_id, snooze_id) DO NOTHING' },
);

type Snoozed = WholeSnooze & { materialId: string };
const insertSnoozed = inserter<Snoozed>('snoozed_materials', [
  ['material_id', 'uuid', ({ materialId }) => materialId],
  ['revision', 'integer', ({ revision }) => revision],
  ['snooze_id', 'uuid', ({ snoozeId }) => snoozeId],
  ['position', 'smallint', ({ position }) => position],
  ['before_next_review_time', 'timestamptz', ({ beforeNextReviewTime }) => iso(beforeNextReviewTime)],
  ['after_next_review_time', 'timestamptz', ({ afterNextReviewTime }) => iso(afterNextReviewTime)],
  ['cancel_revision', 'integer', ({ cancelRevision }) => cancelRevision],
]);

/** Building a statement with more would block the event loop for longer than a request takes. */
const REVIEWS_OF_STATEMENT = 30;

async function storeReviews(
  transaction: Queryable,
  userId: string,
  reviews: readonly Review[],
): Promise<void> {
  for (const part of partsOf(reviews, REVIEWS_OF_STATEMENT)) await insertReviews(transaction, userId, part);
}

/** The search index collects new entries in a pending list, at a third of the CPU. Every search reads that list. */
const LONG_LIST = { text: `SET LOCAL gin_pending_list_limit = '4MB'`, values: [] };
const SHORT_LIST = { text: `SET LOCAL gin_pending_list_limit = '64kB'`, values: [] };

/** `sortsIn`: writes the last row with a short list, so that PostgreSQL sorts the collected entries into the index. */
async function storeSearches(
  transaction: Queryable,
  userId: string,
  materials: readonly Material[],
  sortsIn: boolean,
): Promise<void> {
  await transaction.query(LONG_LIST);
  await storeSearch(transaction, userId, sortsIn ? materials.slice(1) : materials);
  if (!sortsIn) return;
  await transaction.query(SHORT_LIST);
  await storeSearch(transaction, userId, materials.slice(0, 1));
}

/**
 * Stores materials that the user does not have, with all that belongs to them. `sortsIn`: whether to sort them, and
 * those of earlier calls, into the search index.
 */
export async function insertWhole(
  transaction: Queryable,
  userId: string,
  records: readonly WholeMaterial[],
  { sortsIn }: { sortsIn: boolean },
): Promise<void> {
  if (records.length === 0) return;
  const materials = records.map(({ material }) => material);
  await storeMaterials(transaction, userId, materials);
  await storeSearches(transaction, userId, materials, sortsIn);
  await insertLabels(transaction, userId, materials.flatMap(labelsOf));
  await storeBaselines(transaction, userId, records.flatMap(baselineOf));
  const all = records.flatMap(({ reviews }) => reviews);
  await storeReviews(transaction, userId, all);
  const undone = all.flatMap(({ undo, ...review }) => (undo === null ? [] : [{ ...review, undo }]));
  await insertUndone(transaction, userId, undone);
  const snoozed = records.flatMap(({ material: { materialId }, snoozes }) =>
    snoozes.map((snooze) => ({ ...snooze, materialId })),
  );
  await insertSnoozes(transaction, userId, [
    ...new Map(snoozed.map((each) => [each.snoozeId, each])).values(),
  ]);
  await insertSnoozed(transaction, userId, snoozed);
}

const labelsOf = ({ materialId, labels }: Material): Labelled[] =>
  (labels ?? []).map((label) => ({ materialId, label }));

const baselineOf = ({
  material,
  source,
  baseline,
}: Pick<WholeMaterial, 'material' | 'source' | 'baseline'>): BaselineOf[] =>
  baseline === null ? [] : [{ materialId: material.materialId, source, baseline }];

const DELETE_LABELS = `
  DELETE FROM scheduling.material_labels l USING unnest($2::uuid[], $3::text[]) AS removed (material_id, label)
  WHERE l.user_id = $1 AND l.label = removed.label AND l.material_id = removed.material_id`;
const DELETE_PAST_REVIEWS = `
  DELETE FROM scheduling.reviews r WHERE r.user_id = $1 AND r.material_id = ANY($2::uuid[]) AND r.revision <= 0`;

/** Stores what has changed of locked materials. `source` empty: it was made here. */
export async function updateWhole(
  transaction: Queryable,
  userId: string,
  changes: readonly (Changed & { before: Material; source: string })[],
): Promise<void> {
  if (changes.length === 0) return;
  const materials = changes.map(({ material }) => material);
  await storeMaterials(transaction, userId, materials);
  await storeSearch(transaction, userId, materials);
  const before = changes.flatMap((change) => labelsOf(change.before));
  const removed = [before.map(({ materialId }) => materialId), before.map(({ label }) => label)];
  await transaction.query({ text: DELETE_LABELS, values: [userId, ...removed] });
  await insertLabels(transaction, userId, materials.flatMap(labelsOf));
  await storeBaselines(transaction, userId, changes.flatMap(baselineOf));
  const replaced = changes.filter(({ pastReviews }) => pastReviews !== undefined);
  const replacedIds = replaced.map(({ material }) => material.materialId);
  await transaction.query({ text: DELETE_PAST_REVIEWS, values: [userId, replacedIds] });
  const pastReviews = replaced.flatMap((change) => change.pastReviews ?? []);
  await storeReviews(transaction, userId, pastReviews);
}
