// Locks rows, so that writers run one after the other in an order that the test knows.
import { setTimeout } from 'node:timers/promises';
import { Client, type ClientBase, Pool } from 'pg';
import { ServiceError } from '../../services/platform/errors.ts';

export type Lock = Awaited<ReturnType<typeof openLock>>;

/** A transaction of the test's own that takes locks with `sql` and keeps them until `release`. */
export async function openLock(databaseUrl: string) {
  const sql = new Client({ connectionString: databaseUrl });
  await sql.connect();
  return beginLock(sql, () => sql.end());
}

async function beginLock<C extends ClientBase>(sql: C, end: () => unknown) {
  await sql.query('BEGIN');
  let isHolding = true;
  return {
    sql,
    /** How many connections wait for a lock, here or behind each other. */
    waiting: () => countWaiting(sql),
    /** Resolves once so many connections of services wait for a lock, here or behind each other, or `sent` has ended. */
    async untilWaiting(count: number, sent: Promise<unknown>): Promise<void> {
      let isOver = false;
      const end = () => {
        isOver = true;
      };
      sent.then(end, end);
      while (!isOver && (await countWaiting(sql)) < count) await setTimeout(2);
    },
    async release(): Promise<void> {
      if (isHolding) await sql.query('COMMIT');
      isHolding = false;
    },
    /** Safe after a failed test, too. */
    async close(): Promise<void> {
      await this.release().finally(end);
    },
  };
}

/** Connections that locks of materials take turns on: to open one costs as much as all that such a test does. */
const pools = new Map<string, Pool>();

function poolOf(databaseUrl: string): Pool {
  const pool = pools.get(databaseUrl) ?? new Pool({ connectionString: databaseUrl, allowExitOnIdle: true });
  // Idle when the database is dropped.
  if (!pools.has(databaseUrl)) pool.on('error', () => {});
  pools.set(databaseUrl, pool);
  return pool;
}

async function countWaiting(sql: ClientBase): Promise<number> {
  // A transaction sees the connections of its first look only, unless it forgets them.
  const { rows } = await sql.query<{ count: number }>(
    `SELECT pg_stat_clear_snapshot(), (
       SELECT count(*)::int FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock' AND cardinality(pg_blocking_pids(pid)) > 0) AS count`,
  );
  return rows[0]?.count ?? 0;
}

export async function lockMaterial(databaseUrl: string, materialId: string) {
  const sql = await poolOf(databaseUrl).connect();
  const lock = await beginLock(sql, () => sql.release());
  await lock.sql.query('SELECT FROM scheduling.materials WHERE material_id = $1 FOR UPDATE', [materialId]);
  return lock;
}

/**
 * Sends each write once the earlier ones wait for the material, then releases the lock: they run in this order.
 * @throws what a write throws.
 */
export async function queueOn(
  databaseUrl: string,
  materialId: string,
  writes: readonly (() => Promise<unknown>)[],
): Promise<void> {
  const lock = await lockMaterial(databaseUrl, materialId);
  const sent: Promise<unknown>[] = [];
  try {
    for (const write of writes) {
      sent.push(write());
      await lock.untilWaiting(sent.length, Promise.all(sent));
    }
  } finally {
    await lock.close();
    await Promise.allSettled(sent);
  }
  await Promise.all(sent);
}

/**
 * Runs `round` again if a lock's time-out of 0.5 s ended it, which happens on a busy machine. `overtaken` is the reason
 * for which a write is refused whose second attempt, after a time-out, another write has overtaken.
 */
export async function inTime<T>(round: () => Promise<T>, overtaken?: string): Promise<T> {
  for (let left = 9; ; left -= 1) {
    try {
      return await round();
    } catch (error) {
      const isLate =
        error instanceof ServiceError && (error.reason === 'UNAVAILABLE' || error.reason === overtaken);
      if (left === 0 || !isLate) throw error;
    }
  }
}
