// The SQL of statistics: forecast, activity, retention, distributions, hardest materials, histories to predict from, and due counts of many users.
import type { Queryable } from '../../platform/postgres/database.ts';
import { rowsOfItems } from '../gathered.ts';
import type { Material } from '../materials/material.ts';
import { DUE_TIME, hasLabel, isCounted, isCountedOf, materialColumnsWithTextsIf } from '../rows.ts';
import { type CalendarDays, clockOf } from './calendar.ts';
import type { History } from './prediction.ts';

/**
 * The calendar day of `time` with the UTC offsets in $`parameter` and the next parameter. Does not use PostgreSQL's time zones:
 * their data can have another version than Node's, and names such as CET can mean a fixed offset.
 */
function localDate(time: string, parameter: number): string {
  const change = `width_bucket(${time}, $${parameter}::timestamptz[])`;
  return `(${time} AT TIME ZONE ($${parameter + 1}::interval[])[${change} + 1])::date`;
}

/** Reviews r that were not undone. */
const COUNTED = isCounted('r');

type Forecast = {
  overdue: number;
  dueNow: number;
  /** By YYYY-MM-DD; days without any are omitted. */
  byDate: ReadonlyMap<string, number>;
};

/**
 * Overdue: due before the start of today. Due now: NULL, or at or before $2. By day: due on that day, NULL counts as today.
 * Archived materials do not count.
 */
const FORECAST = `
  SELECT CASE WHEN m.next_review_time < $3 THEN NULL
              ELSE to_char(${localDate('coalesce(m.next_review_time, $2)', 5)}, 'YYYY-MM-DD') END AS date,
         count(*) AS count,
         count(*) FILTER (WHERE ${DUE_TIME} <= $2) AS due_now
  FROM scheduling.materials m
  WHERE m.user_id = $1 AND m.archive_time IS NULL AND ${DUE_TIME} < $4
  GROUP BY 1`;

type ForecastRow = { date: string | null; count: number; due_now: number };

export async function readForecast(
  db: Queryable,
  userId: string,
  asOf: Date,
  days: CalendarDays,
): Promise<Forecast> {
  const clock = clockOf(days.timeZone, days.todayStartTime, days.endTime);
  const values = [userId, asOf, days.todayStartTime, days.endTime, clock.changes, clock.offsets];
  const rows = await db.query<ForecastRow>({ name: 'stats-forecast', text: FORECAST, values });
  const dated = rows.flatMap(({ date, count }) => (date === null ? [] : [[date, count] as const]));
  return {
    overdue: rows.find(({ date }) => date === null)?.count ?? 0,
    dueNow: rows.reduce((sum, { due_now }) => sum + due_now, 0),
    byDate: new Map(dated),
  };
}

type Activity = {
  /** Reviews by YYYY-MM-DD; days without any are omitted. */
  byDate: ReadonlyMap<string, number>;
  currentStreakDays: number;
  longestStreakDays: number;
};

/** The first and the last review up to $2: the range that the time zone's clock must cover. */
const SPAN = `
  SELECT min(r.review_time) AS first, max(r.review_time) AS last
  FROM scheduling.reviews r
  WHERE r.user_id = $1 AND r.review_time <= $2 AND ${COUNTED}`;

/**
 * Reviews on each calendar day since $3, up to $2, with the streaks repeated in every row.
 * A streak is a run of consecutive days with reviews, for which the day minus its rank is constant (gaps and islands).
 * Current: the streak up to today ($4), or yesterday if today has none. Longest: of all days up to $2.
 */
const ACTIVITY = `
  WITH days AS (
    SELECT ${localDate('r.review_time', 5)} AS day, count(*) AS reviews
    FROM scheduling.reviews r
    WHERE r.user_id = $1 AND r.review_time <= $2 AND ${COUNTED}
    GROUP BY 1
  ), runs AS (
    SELECT count(*) AS days, max(day) AS last_day
    FROM (SELECT day, day - (row_number() OVER (ORDER BY day))::int AS run FROM days) AS ranked
    GROUP BY run
  ), streaks AS (
    SELECT coalesce(max(days) FILTER (WHERE last_day >= $4::date - 1), 0) AS current, max(days) AS longest FROM runs
  )
  SELECT to_char(d.day, 'YYYY-MM-DD') AS date, d.reviews, s.current, s.longest
  FROM streaks s
  LEFT JOIN days d ON d.day >= $3::date`;

type ActivityRow = { date: string | null; reviews: number; current: number; longest: number };

export async function readActivity(
  db: Queryable,
  userId: string,
  asOf: Date,
  { timeZone, dates, today }: CalendarDays,
): Promise<Activity> {
  const [span] = await db.query<{ first: Date | null; last: Date | null }>({
    name: 'stats-review-span',
    text: SPAN,
    values: [userId, asOf],
  });
  if (!span?.first || !span.last) return { byDate: new Map(), currentStreakDays: 0, longestStreakDays: 0 };
  const clock = clockOf(timeZone, span.first, span.last);
  const values = [userId, span.last, dates[0], today, clock.changes, clock.offsets];
  const rows = await db.query<ActivityRow>({ name: 'stats-activity', text: ACTIVITY, values });
  return {
    byDate: new Map(rows.flatMap(({ date, reviews }) => (date === null ? [] : [[date, reviews] as const]))),
    currentStreakDays: rows[0]?.current ?? 0,
    longestStreakDays: rows[0]?.longest ?? 0,
  };
}

export type RecallCount = { reviews: number; recalled: number };
/** 0: never reviewed before, 1: 1 to 6 days, 2: 7 to 20, 3: 21 to 89, 4: 90 and more. */
export type Band = 0 | 1 | 2 | 3 | 4;
export const BANDS: readonly Band[] = [0, 1, 2, 3, 4];

/** The band of an interval in days. */
const bandOf = (interval: string) => `width_bucket(${interval}, ARRAY[1, 7, 21, 90])`;

/**
 * Recalled: graded 3 or better. The band is that of the interval before the review; the day that of the review, within the
 * window and up to $3.
 */
const RETENTION = `
  SELECT to_char(${localDate('r.review_time', 4)}, 'YYYY-MM-DD') AS date,
         ${bandOf('r.before_interval_days')} AS band,
         count(*) AS reviews,
         count(*) FILTER (WHERE r.quality >= 3) AS recalled
  FROM scheduling.reviews r
  WHERE r.user_id = $1 AND r.review_time >= $2 AND r.review_time <= $3 AND ${COUNTED}
  GROUP BY ${localDate('r.review_time', 4)}, 2`;

/** One entry per day and band with reviews. */
export async function readRetention(
  db: Queryable,
  userId: string,
  asOf: Date,
  days: CalendarDays,
): Promise<(RecallCount & { date: string; band: Band })[]> {
  const clock = clockOf(days.timeZone, days.startTime, days.endTime);
  const values = [userId, days.startTime, asOf, clock.changes, clock.offsets];
  return db.query({ name: 'stats-retention', text: RETENTION, values });
}

export type Distributions = {
  /** By tenths, rounded down: 25 stands for 2.50 to 2.59. */
  byEaseFactorTenths: ReadonlyMap<number, number>;
  byBand: ReadonlyMap<Band, number>;
  byGrade: ReadonlyMap<number, number>;
};

/** Current active materials, by ease factor and by interval. */
const MATERIALS = `
  SELECT m.ease_factor_hundredths / 10 AS tenths, ${bandOf('m.interval_days')} AS band, count(*) AS count
  FROM scheduling.materials m
  WHERE m.user_id = $1 AND m.archive_time IS NULL
  GROUP BY GROUPING SETS ((m.ease_factor_hundredths / 10), (${bandOf('m.interval_days')}))`;

/** The window's reviews, up to $3. */
const GRADES = `
  SELECT r.quality, count(*) AS count
  FROM scheduling.reviews r
  WHERE r.user_id = $1 AND r.review_time >= $2 AND r.review_time <= $3 AND ${COUNTED}
  GROUP BY r.quality`;

export async function readDistributions(
  db: Queryable,
  userId: string,
  asOf: Date,
  days: CalendarDays,
): Promise<Distributions> {
  const [materials, grades] = await Promise.all([
    db.query<{ tenths: number | null; band: Band | null; count: number }>({
      name: 'stats-materials',
      text: MATERIALS,
      values: [userId],
    }),
    db.query<{ quality: number; count: number }>({
      name: 'stats-grades',
      text: GRADES,
      values: [userId, days.startTime, asOf],
    }),
  ]);
  return {
    byEaseFactorTenths: new Map(
      materials.flatMap(({ tenths, count }) => (tenths === null ? [] : [[tenths, count] as const])),
    ),
    byBand: new Map(materials.flatMap(({ band, count }) => (band === null ? [] : [[band, count] as const]))),
    byGrade: new Map(grades.map(({ quality, count }) => [quality, count])),
  };
}

type HardMaterial = RecallCount & { material: Material };
type HardestPosition = RecallCount & { materialId: string };

/**
 * Active materials with at least $4 reviews in the window up to $3, by the share graded 3 or better, lowest first, then by the
 * number of reviews, highest first. Quotients of such small integers compare exactly as doubles.
 * A page continues after the position of $6 recalled of $7 reviews and material $8.
 */
const HARDEST = `
  WITH counted AS (
    SELECT r.material_id, count(*) AS reviews, count(*) FILTER (WHERE r.quality >= 3) AS recalled
    FROM scheduling.reviews r
    WHERE r.user_id = $1 AND r.review_time >= $2 AND r.review_time <= $3 AND ${COUNTED}
    GROUP BY r.material_id
    HAVING count(*) >= $4
  )
  SELECT ${materialColumnsWithTextsIf('$9')}, c.reviews, c.recalled
  FROM counted c
  JOIN scheduling.materials m ON m.user_id = $1 AND m.material_id = c.material_id
  WHERE m.archive_time IS NULL
    AND ($8::uuid IS NULL OR (c.recalled::float8 / c.reviews, -c.reviews, m.material_id)
      > ($6::float8 / nullif($7::bigint, 0), -$7, $8))
  ORDER BY c.recalled::float8 / c.reviews, c.reviews DESC, m.material_id
  LIMIT $5`;

export async function listHardestMaterials(
  db: Queryable,
  userId: string,
  window: { asOf: Date; days: CalendarDays; minReviews: number },
  { limit, withTexts, after }: { limit: number; withTexts: boolean; after: HardestPosition | undefined },
): Promise<HardMaterial[]> {
  const { asOf, days, minReviews } = window;
  const position = [after?.recalled ?? null, after?.reviews ?? null, after?.materialId ?? null];
  const rows = await db.query<Material & RecallCount>({
    name: 'stats-hardest',
    text: HARDEST,
    values: [userId, days.startTime, asOf, minReviews, limit, ...position, withTexts],
  });
  return rows.map(({ reviews, recalled, ...material }) => ({ material, reviews, recalled }));
}

/**
 * The reviews of each material as GradedReviews, in SQL arrays, which cost a third less than JSON. Reads all reviews of
 * the user and then leaves out those after $2: a condition on time would make the planner take an index in another
 * order. Sorted by time, since an import can add earlier reviews. `filter`: a further condition.
 */
const histories = (filter: string) => `
  SELECT m.material_id AS "materialId", m.archive_time IS NOT NULL AS "isArchived", array_to_json(h.reviews) AS reviews
  FROM (
    SELECT r.material_id,
           array_agg(ARRAY[r.quality, (date_part('epoch', r.review_time) * 1000)::bigint, r.before_ease_factor_hundredths,
             r.before_interval_days, r.before_repetitions] ORDER BY r.review_time, r.revision)
             FILTER (WHERE r.review_time <= $2) AS reviews
    FROM scheduling.reviews r
    WHERE r.user_id = $1 ${filter} AND ${isCountedOf('r', '$1')}
    GROUP BY r.material_id
  ) AS h
  JOIN scheduling.materials m ON m.user_id = $1 AND m.material_id = h.material_id
  WHERE h.reviews IS NOT NULL`;
/** Two statements, so that each is planned for as many reviews as it reads. */
const ALL_HISTORIES = histories('');
const SOME_HISTORIES = histories('AND r.material_id = ANY ($3::uuid[])');

/** The materials with a review, in no order, with their reviews up to `asOf`; of all materials, or of `materialIds`. */
export async function readGradedHistories(
  db: Queryable,
  userId: string,
  { asOf, materialIds }: { asOf: Date; materialIds: readonly string[] | null },
): Promise<(History & { materialId: string })[]> {
  return db.query(
    materialIds === null
      ? { name: 'stats-histories', text: ALL_HISTORIES, values: [userId, asOf] }
      : { name: 'stats-histories-of', text: SOME_HISTORIES, values: [userId, asOf, materialIds] },
  );
}

export type DueCountRequest = {
  userId: string;
  asOf: Date;
  /** Start of the user's calendar day at `asOf`. */
  todayStartTime: Date;
};
export type DueCount = { dueCount: number; titles: readonly string[]; reviewedToday: boolean };

/** Counting ends here, so that the cost does not grow with the number of materials. */
const MAX_COUNTED = 1000;
const MAX_TITLES = 5;

const DUE_ORDER = `${DUE_TIME}, m.material_id`;

/** As the list of due materials (materials/sql.ts), in the order of the index materials_due. `filter`: further conditions. */
const firstDue = (columns: string, { userId, asOf, filter }: DueSql, limit: number) => `
  SELECT ${columns} FROM scheduling.materials m
  WHERE m.user_id = ${userId} AND m.archive_time IS NULL AND ${DUE_TIME} <= ${asOf} ${filter}
  ORDER BY ${DUE_ORDER} LIMIT ${limit}`;

type DueSql = { userId: string; asOf: string; todayStartTime: string; filter: string };

type DueCountRow = { due_count: number; titles: string[]; reviewed_today: boolean };

const selectDueCount = (item: DueSql) => {
  const counted = firstDue('m.material_id', item, MAX_COUNTED);
  const titled = firstDue(`m.title, ${DUE_ORDER}`, item, MAX_TITLES);
  return `
    SELECT counted.due_count, first.titles, latest.reviewed_today
    FROM (SELECT count(*) AS due_count FROM (${counted}) AS due) AS counted
    CROSS JOIN (
      SELECT coalesce(array_agg(due.title ORDER BY due.due_time, due.material_id), '{}') AS titles
      FROM (${titled}) AS due (title, due_time, material_id)
    ) AS first
    CROSS JOIN (
      SELECT count(*) > 0 AS reviewed_today
      FROM (
        SELECT r.review_id FROM scheduling.reviews r
        WHERE r.user_id = ${item.userId} AND r.review_time >= ${item.todayStartTime} AND r.review_time <= ${item.asOf} AND ${COUNTED}
        LIMIT 1
      ) AS today
    ) AS latest`;
};

const DUE_COUNT_TYPES = { userId: 'uuid', asOf: 'timestamptz', todayStartTime: 'timestamptz' };

const countDue = rowsOfItems<DueCountRequest, DueCountRow>({
  name: 'due-counts',
  types: DUE_COUNT_TYPES,
  select: (item) => selectDueCount({ ...item, filter: '' }),
});

const countLabelledDue = rowsOfItems<DueCountRequest & { labels: readonly string[] }, DueCountRow>({
  name: 'labelled-due-count',
  types: { ...DUE_COUNT_TYPES, labels: 'text[]' },
  select: (item) => selectDueCount({ ...item, filter: `AND ${hasLabel(item.userId, item.labels)}` }),
});

/**
 * Applies until the transaction ends. A bitmap scan would read all that is due, which for some users is far more than
 * the planner expects; an index scan ends at the limit.
 */
const NO_BITMAPS = { text: 'SET LOCAL enable_bitmapscan = off', values: [] };

/**
 * One count per request, in order, up to 1,000. Titles: at most five, the longest overdue first. `db`: a transaction.
 */
export async function readDueCounts(
  db: Queryable,
  requests: readonly DueCountRequest[],
): Promise<DueCount[]> {
  await db.query(NO_BITMAPS);
  const rows = await countDue(db, requests);
  return rows.map(([row]) => toDueCount(row));
}

/** The same of one user, counting materials with one of `labels`, or one below them. */
export async function readLabelledDueCount(
  db: Queryable,
  request: DueCountRequest,
  labels: readonly string[],
): Promise<DueCount> {
  const [[row] = []] = await countLabelledDue(db, [{ ...request, labels }]);
  return toDueCount(row);
}

function toDueCount(row: DueCountRow | undefined): DueCount {
  return {
    dueCount: row?.due_count ?? 0,
    titles: row?.titles ?? [],
    reviewedToday: row?.reviewed_today ?? false,
  };
}
