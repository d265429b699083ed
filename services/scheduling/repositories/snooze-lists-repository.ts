// The SQL of lists of snoozes, each with the materials it put off, in the order in which they were sent.
import type { Queryable } from '../../platform/postgres.ts';
import type { Snooze } from './snoozes-repository.ts';

export type ListedSnooze = Snooze & {
  materialIds: string[];
  /** Of the material asked about, after this snooze; 0 where all were asked for. */
  revision: number;
};
export type SnoozePosition = { createTime: Date; snoozeId: string };

type SnoozeRow = {
  snooze_id: string;
  snooze_until_time: Date;
  reason: string;
  create_time: Date;
  material_ids: string[];
  revision: number;
};

const COLUMNS = `s.snooze_id, s.snooze_until_time, s.reason, s.create_time,
  ARRAY(SELECT p.material_id FROM scheduling.snoozed_materials p
        WHERE p.user_id = $1 AND p.snooze_id = s.snooze_id ORDER BY p.position) AS material_ids`;

const LIST = `
  SELECT ${COLUMNS}, 0 AS revision FROM scheduling.snoozes s
  WHERE s.user_id = $1 AND (s.create_time, s.snooze_id) < ($3, $4)
  ORDER BY s.create_time DESC, s.snooze_id DESC
  LIMIT $2`;

const LIST_OLDEST_FIRST = `
  SELECT ${COLUMNS}, 0 AS revision FROM scheduling.snoozes s
  WHERE s.user_id = $1 AND (s.create_time, s.snooze_id) > ($3, $4)
  ORDER BY s.create_time, s.snooze_id
  LIMIT $2`;

const LIST_OF_MATERIAL = `
  SELECT ${COLUMNS}, m.revision
  FROM scheduling.snoozed_materials m
  JOIN scheduling.snoozes s ON s.user_id = m.user_id AND s.snooze_id = m.snooze_id
  WHERE m.user_id = $1 AND s.user_id = $1 AND m.material_id = $3 AND m.revision < $4
  ORDER BY m.revision DESC
  LIMIT $2`;

const LATEST = { createTime: 'infinity', snoozeId: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };
const EARLIEST = { createTime: '-infinity', snoozeId: '00000000-0000-0000-0000-000000000000' };
const MAX_INTEGER = 2_147_483_647;

/** All the user's snoozes, latest first. */
export async function listSnoozes(
  db: Queryable,
  userId: string,
  { limit, after }: { limit: number; after: SnoozePosition | undefined },
): Promise<ListedSnooze[]> {
  const { createTime, snoozeId } = after ?? LATEST;
  const values = [userId, limit, createTime, snoozeId];
  const rows = await db.query<SnoozeRow>({ name: 'list-snoozes', text: LIST, values });
  return rows.map(toSnooze);
}

/** All the user's snoozes, oldest first. */
export async function listSnoozesOldestFirst(
  db: Queryable,
  userId: string,
  { limit, after }: { limit: number; after: SnoozePosition | undefined },
): Promise<ListedSnooze[]> {
  const { createTime, snoozeId } = after ?? EARLIEST;
  const values = [userId, limit, createTime, snoozeId];
  const rows = await db.query<SnoozeRow>({
    name: 'list-snoozes-oldest-first',
    text: LIST_OLDEST_FIRST,
    values,
  });
  return rows.map(toSnooze);
}

/** The snoozes of one material, latest first, that made revisions below `beforeRevision`. */
export async function listSnoozesOfMaterial(
  db: Queryable,
  userId: string,
  materialId: string,
  { limit, beforeRevision = MAX_INTEGER }: { limit: number; beforeRevision: number | undefined },
): Promise<ListedSnooze[]> {
  const values = [userId, limit, materialId, beforeRevision];
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
  };
}
