// Distributions of materials over ease factors and intervals, and of reviews over grades.
import type { Queryable } from '../../platform/postgres/database.ts';
import type { CalendarDays } from './calendar.ts';
import { type Band, bandOf } from './retention-repository.ts';

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
  WHERE r.user_id = $1 AND r.review_time >= $2 AND r.review_time <= $3
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
