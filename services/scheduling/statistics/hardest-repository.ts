// The materials with the lowest recall.
import type { Queryable } from '../../platform/postgres/database.ts';
import type { Material } from '../materials/material.ts';
import { fromMaterialRow, type MaterialRow, materialColumnsWithTextsIf } from '../materials/material-row.ts';
import type { CalendarDays } from './calendar.ts';
import type { RecallCount } from './retention-repository.ts';

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
    WHERE r.user_id = $1 AND r.review_time >= $2 AND r.review_time <= $3
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
  const rows = await db.query<MaterialRow & RecallCount>({
    name: 'stats-hardest',
    text: HARDEST,
    values: [userId, days.startTime, asOf, minReviews, limit, ...position, withTexts],
  });
  return rows.map((row) => ({
    material: fromMaterialRow(row),
    reviews: row.reviews,
    recalled: row.recalled,
  }));
}
