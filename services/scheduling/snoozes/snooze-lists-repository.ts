// The SQL of snooze lists, each snooze with its materials in the order of the request.
import type { Queryable } from '../../platform/postgres/database.ts';
import { MAX_UUID, NIL_UUID } from '../../platform/uuid.ts';
import { IS_CANCELLABLE } from './snooze-sql.ts';
import type { Snooze } from './snoozes-repository.ts';

export type ListedSnooze = Snooze & {
  materialIds: string[];
  /** Of the material asked about, after this snooze; 0 where all were asked for. */
  revision: number;
  cancelTime: Date | null;
  /** How many of the materials still wait because of it. */
  cancellableMaterials: number;
};
type SnoozePosition = { createTime: Date; snoozeId: string };

/** $5 is now. */
const COLUMNS = `s.snooze_id AS "snoozeId", s.snooze_until_time AS "snoozeUntilTime", s.reason,
  s.create_time AS "createTime", coalesce(s.actor, '') AS actor, coalesce(s.x_request_id, '') AS "requestId",
  s.cancel_time AS "cancelTime",
  CASE WHEN s.snooze_until_time <= $5 THEN 0 ELSE (
    SELECT count(*) FROM scheduling.snoozed_materials p
    WHERE p.user_id = $1 AND p.snooze_id = s.snooze_id AND ${IS_CANCELLABLE}) END AS "cancellableMaterials",
  ARRAY(SELECT p.material_id FROM scheduling.snoozed_materials p
        WHERE p.user_id = $1 AND p.snooze_id = s.snooze_id ORDER BY p.position) AS "materialIds"`;

type Order = 'latest first' | 'oldest first';

const list = (comparison: '<' | '>', direction: 'ASC' | 'DESC') => `
  SELECT ${COLUMNS}, 0 AS revision FROM scheduling.snoozes s
  WHERE s.user_id = $1 AND (s.create_time, s.snooze_id) ${comparison} ($3, $4)
  ORDER BY s.create_time ${direction}, s.snooze_id ${direction}
  LIMIT $2`;

const LISTS = {
  'latest first': {
    statement: { name: 'list-snoozes', text: list('<', 'DESC') },
    start: { createTime: 'infinity', snoozeId: MAX_UUID },
  },
  'oldest first': {
    statement: { name: 'list-snoozes-oldest-first', text: list('>', 'ASC') },
    start: { createTime: '-infinity', snoozeId: NIL_UUID },
  },
};

const LIST_OF_MATERIAL = `
  SELECT ${COLUMNS}, m.revision
  FROM scheduling.snoozed_materials m
  JOIN scheduling.snoozes s ON s.user_id = m.user_id AND s.snooze_id = m.snooze_id
  WHERE m.user_id = $1 AND s.user_id = $1 AND m.material_id = $3 AND m.revision < $4
  ORDER BY m.revision DESC
  LIMIT $2`;

const MAX_INTEGER = 2_147_483_647;

/** All the user's snoozes. */
export async function listSnoozes(
  db: Queryable,
  userId: string,
  page: { limit: number; after: SnoozePosition | undefined; order: Order; now: Date },
): Promise<ListedSnooze[]> {
  const { limit, after, order, now } = page;
  const { statement, start } = LISTS[order];
  const { createTime, snoozeId } = after ?? start;
  return db.query<ListedSnooze>({ ...statement, values: [userId, limit, createTime, snoozeId, now] });
}

/** The snoozes of one material, latest first, that made revisions below `beforeRevision`. */
export async function listSnoozesOfMaterial(
  db: Queryable,
  userId: string,
  materialId: string,
  page: { limit: number; beforeRevision: number | undefined; now: Date },
): Promise<ListedSnooze[]> {
  const { limit, beforeRevision = MAX_INTEGER, now } = page;
  return db.query<ListedSnooze>({
    name: 'list-snoozes-of-material',
    text: LIST_OF_MATERIAL,
    values: [userId, limit, materialId, beforeRevision, now],
  });
}
