// The SQL of snooze lists, each snooze with its materials in the order of the request.
import type { Queryable } from '../../platform/postgres/database.ts';
import { NIL_UUID } from '../../platform/uuid.ts';
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
export type SnoozePosition = { createTime: Date; snoozeId: string };

type SnoozeRow = {
  snooze_id: string;
  snooze_until_time: Date;
  reason: string;
  create_time: Date;
  material_ids: string[];
  revision: number;
  actor: string | null;
  x_request_id: string | null;
  cancel_time: Date | null;
  cancellable: number;
};

/** $5 is now. */
const COLUMNS = `s.snooze_id, s.snooze_until_time, s.reason, s.create_time, s.actor, s.x_request_id, s.cancel_time,
  CASE WHEN s.snooze_until_time <= $5 THEN 0 ELSE (
    SELECT count(*) FROM scheduling.snoozed_materials p
    WHERE p.user_id = $1 AND p.snooze_id = s.snooze_id AND ${IS_CANCELLABLE}) END AS cancellable,
  ARRAY(SELECT p.material_id FROM scheduling.snoozed_materials p
        WHERE p.user_id = $1 AND p.snooze_id = s.snooze_id ORDER BY p.position) AS material_ids`;

type Order = 'latest first' | 'oldest first';

const list = (comparison: '<' | '>', direction: 'ASC' | 'DESC') => `
  SELECT ${COLUMNS}, 0 AS revision FROM scheduling.snoozes s
  WHERE s.user_id = $1 AND (s.create_time, s.snooze_id) ${comparison} ($3, $4)
  ORDER BY s.create_time ${direction}, s.snooze_id ${direction}
  LIMIT $2`;

const LISTS = {
  'latest first': {
    statement: { name: 'list-snoozes', text: list('<', 'DESC') },
    start: { createTime: 'infinity', snoozeId: 'ffffffff-ffff-ffff-ffff-ffffffffffff' },
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
  const values = [userId, limit, createTime, snoozeId, now];
  const rows = await db.query<SnoozeRow>({ ...statement, values });
  return rows.map(toSnooze);
}

/** The snoozes of one material, latest first, that made revisions below `beforeRevision`. */
export async function listSnoozesOfMaterial(
  db: Queryable,
  userId: string,
  materialId: string,
  page: { limit: number; beforeRevision: number | undefined; now: Date },
): Promise<ListedSnooze[]> {
  const { limit, beforeRevision = MAX_INTEGER, now } = page;
  const values = [userId, limit, materialId, beforeRevision, now];
  const rows = await db.query<SnoozeRow>({
    name: 'list-snoozes-of-material',
    text: LIST_OF_MATERIAL,
    values,
  });
  return rows.map(toSnooze);
}

function toSnooze(row: SnoozeRow): ListedSnooze {
  return {
    snoozeId: row.snooze_id,
    snoozeUntilTime: row.snooze_until_time,
    reason: row.reason,
    createTime: row.create_time,
    materialIds: row.material_ids,
    revision: row.revision,
    actor: row.actor ?? '',
    requestId: row.x_request_id ?? '',
    cancelTime: row.cancel_time,
    cancellableMaterials: row.cancellable,
  };
}
