// Reads that may take all rows of a user, and writes of long texts, wait their turn: they leave the database to reviews and lists.
import { expect } from 'vitest';
import { COUNT_LOCK } from '../../services/platform/postgres/connection.ts';
import { type Given, test } from '../fixtures.ts';
import { newUserId, type TestScheduling } from '../support/scheduling.ts';
import { window } from './stats-facts.ts';

test.beforeAll(takeServices);

test('statistics are read three at a time, and each of a user one at a time', async ({ userId }) => {
  const asked: Promise<unknown>[] = [];
  const ask = (userId: string) =>
    asked.push(here.stats.getActivity({ userId, window: window(1) }, PATIENT).catch(() => {}));
  await whileHeld('reviews', async () => {
    for (const _ of MANY) ask(userId);
    await expectWaiting(1);
    for (const _ of MANY)
      asked.push(here.stats.getRetention({ userId, window: window(1) }, PATIENT).catch(() => {}));
    await expectWaiting(2);
    for (const _ of MANY)
      asked.push(here.stats.listHardestMaterials({ userId, window: window(1) }, PATIENT).catch(() => {}));
    await expectWaiting(3);
    for (const otherId of MANY) ask(otherId);
    await expectWaiting(3);
  });
  await Promise.all(asked);
});

test.each(['getActivity', 'listHardestMaterials'] as const)(
  '%s of one learner does not wait for that of another',
  async (rpc) => {
    const asked: Promise<unknown>[] = [];
    await whileHeld('reviews', async () => {
      for (const userId of MANY) asked.push(here.stats[rpc]({ userId, window: window(1) }).catch(() => {}));
      await expectWaiting(3);
    });
    await Promise.all(asked);
  },
);

test('exports read two at a time, and those of a user one at a time', async ({ userId }) => {
  const asked: Promise<unknown>[] = [];
  const ask = (userId: string) =>
    asked.push(
      here.userData
        .exportUserData({ userId })
        .toArray()
        .catch(() => {}),
    );
  await whileHeld('reviews', async () => {
    for (const _ of MANY) ask(userId);
    await expectWaiting(1);
    for (const otherId of MANY) ask(otherId);
    await expectWaiting(2);
  });
  await Promise.all(asked);
});

test('long texts of a user are stored two at a time; short ones, and those of others, do not wait', async ({
  userId,
}) => {
  const asked: Promise<unknown>[] = [];
  const store = (userId: string, characters: number) =>
    here.materials.createMaterial({ userId, title: 'T', content: 'x'.repeat(characters) }, PATIENT);
  await here.sql.query('BEGIN');
  await here.sql.query('SELECT pg_advisory_xact_lock(scheduling.user_lock($1))', [userId]);
  try {
    for (const _ of MANY) asked.push(store(userId, 16_385).catch(() => {}));
    await expect.poll(() => countWaiting('advisory')).toBe(2);
    await store(newUserId(), 16_385);
    expect(await countWaiting('advisory')).toBeLessThanOrEqual(2);
    for (const _ of MANY) asked.push(store(userId, 16_384).catch(() => {}));
    await expect.poll(() => countWaiting('advisory')).toBeGreaterThan(2);
  } finally {
    await here.sql.query('ROLLBACK');
  }
  await Promise.all(asked);
});

test('long texts of edits are stored two at a time, however the ID of the user is written', async ({
  userId,
}) => {
  const asked: Promise<unknown>[] = [];
  for (const materialId of MANY)
    await here.sql.query(
      `SELECT scheduling.insert_material($1, $2, 'T', NULL, NULL, 'simple', 250, 0, 0, now(), now())`,
      [userId, materialId],
    );
  const content = 'x'.repeat(16_385);
  await here.sql.query('BEGIN');
  await here.sql.query('SELECT FROM scheduling.materials WHERE user_id = $1 FOR UPDATE', [userId]);
  try {
    for (const [index, materialId] of MANY.entries()) {
      const written = index % 2 === 0 ? userId : userId.toUpperCase();
      const edit = here.materials.updateMaterial({ userId: written, materialId, content }, PATIENT);
      asked.push(edit.catch(() => {}));
    }
    await expect.poll(() => countWaiting('transactionid')).toBe(2);
    await here.materials.listMaterials({ userId: newUserId() });
    expect(await countWaiting('transactionid')).toBeLessThanOrEqual(2);
  } finally {
    await here.sql.query('ROLLBACK');
  }
  await Promise.all(asked);
});

let here: TestScheduling;

function takeServices({ scheduling }: Given<'scheduling'>): void {
  here = scheduling;
}

/**
 * Enough to be waiting for as long as this test looks: each gives up on the held table after half a second, and the next begins
 * a quarter of a second later.
 */
const MANY = Array.from({ length: 30 }, () => newUserId());
const PATIENT = { deadlineMs: 60_000 };

/**
 * Passes if `expected` statements wait for the held table, and no more once another request has been answered. Fewer do where one has
 * just given up.
 */
async function expectWaiting(expected: number): Promise<void> {
  await expect.poll(() => countWaiting('relation')).toBe(expected);
  await here.materials.listMaterials({ userId: newUserId() });
  expect(await countWaiting('relation')).toBeLessThanOrEqual(expected);
}

/** Statements of the service that wait for a lock. */
async function countWaiting(lockType: 'relation' | 'advisory' | 'transactionid'): Promise<number> {
  const { rows } = await here.sql.query<{ count: number }>(
    // Other tests wait for locks in databases of their own, and the training on a connection of its own.
    `SELECT count(*)::int FROM pg_locks JOIN pg_stat_activity USING (pid)
     WHERE NOT granted AND locktype = $1 AND datname = current_database() AND application_name = 'scheduling'`,
    [lockType],
  );
  return rows[0]?.count ?? 0;
}

/** Keeps out the count of learners as well, which would wait for the table, too. */
async function whileHeld(table: string, work: () => Promise<void>): Promise<void> {
  await here.sql.query('BEGIN');
  await here.sql.query('SELECT pg_advisory_xact_lock($1)', [COUNT_LOCK]);
  await here.sql.query(`LOCK TABLE scheduling.${table}`);
  await work().finally(() => here.sql.query('ROLLBACK'));
}
