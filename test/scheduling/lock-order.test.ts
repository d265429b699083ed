// Writers that lock several rows of a learner do so in one order: none waits for another that waits for it.
import { beforeEach, expect } from 'vitest';
import type { Queryable } from '../../services/platform/postgres/database.ts';
import { deleteMaterial } from '../../services/scheduling/materials/sql.ts';
import { lockMaterials } from '../../services/scheduling/rows.ts';
import { type Given, test } from '../fixtures.ts';
import { inTime, openLock } from '../support/row-locks.ts';
import { newUserId, refusal, type TestScheduling } from '../support/scheduling.ts';
import { material, storeFacts } from './stats-facts.ts';

test.beforeAll(takeServices);
beforeEach(() => here.setClock('2030-01-01T00:00:00Z'));

test.each<[string, (userId: string) => Promise<unknown>]>([
  ['a creation', (userId) => here.materials.createMaterial({ userId, title: 'T', requestId: 'r' })],
  ['a spread', (userId) => here.snoozes.spreadBacklog({ userId, days: 1, timeZone: 'UTC', requestId: 'r' })],
])(
  '%s under a key of the day before yesterday waits for the deletion of its user’s data, which does not wait for it',
  async (_, write) => {
    const outcome = await inTime(async () => {
      const userId = newUserId();
      here.setClock('2030-01-01T00:00:00Z');
      await write(userId);
      here.setClock('2030-01-03T00:00:00Z');
      return inOrder(
        HOLD_USER,
        userId,
        () => here.userData.deleteUserData({ userId }),
        () => write(userId),
      );
    });
    expect(outcome).toBe('NOT_FOUND user_id');
  },
);

test('neither a creation nor a spread waits for a creation of its user that is under way', async ({
  userId,
}) => {
  const underWay = await openLock(here.databaseUrl);
  try {
    await underWay.sql.query(
      `SELECT scheduling.insert_material($1, $2, 'First', NULL, NULL, 'simple', 250, 0, 0, NULL, now())`,
      [userId, newUserId()],
    );
    const { material } = await here.materials.createMaterial({ userId, title: 'Second' });
    const { snooze } = await here.snoozes.spreadBacklog({ userId, days: 1, timeZone: 'UTC' });
    expect(snooze?.materialIds).toEqual([material?.materialId]);
  } finally {
    await underWay.close();
  }
});

test('a snooze of two materials and the deletion of all take them in the same order, however they lie', async () => {
  const outcome = await inTime(async () => {
    const userId = newUserId();
    const materialIds = [await here.create(userId), await here.create(userId)];
    const [first = '', last = ''] = materialIds.toSorted();
    // Now its row lies behind that of the other.
    await here.reviews.submitReview({ userId, materialId: first, quality: 4 });
    return inOrder(
      HOLD,
      last,
      () => here.userData.deleteUserData({ userId }),
      () => here.snoozes.snoozeMaterials({ userId, materialIds, snoozeUntilTime: SNOOZED_UNTIL }),
    );
  });
  expect(outcome).toBe('NOT_FOUND');
});

test('two deletions at the same moment leave nothing of a snooze of both materials', async () => {
  const left = await inTime(async () => {
    const userId = newUserId();
    const [first, second] = [await here.create(userId), await here.create(userId)];
    const asked = { userId, materialIds: [first, second], snoozeUntilTime: SNOOZED_UNTIL };
    await here.snoozes.snoozeMaterials(asked);
    const lock = await openLock(here.databaseUrl);
    let deletion: Promise<unknown> | undefined;
    try {
      const transaction: Queryable = {
        query: async ({ text, values }) => (await lock.sql.query(text, [...values])).rows,
      };
      await lockMaterials(transaction, userId, [first]);
      await deleteMaterial(transaction, userId, { materialId: first, labels: null });
      // The other deletion, while this one is not committed.
      deletion = here.materials.deleteMaterial({ userId, materialId: second });
      await lock.untilWaiting(1, deletion);
    } finally {
      await lock.close();
    }
    await deletion;
    const snoozes = 'SELECT FROM scheduling.snoozes WHERE user_id = $1';
    return (await here.sql.query(snoozes, [userId])).rowCount;
  });
  expect(left).toBe(0);
});

const DELETIONS = {
  'of the material': (owned: Owned) => here.materials.deleteMaterial(owned),
  'of all data of the user': ({ userId }: Owned) => here.userData.deleteUserData({ userId }),
};

const REPEATABLE = {
  'a review': (owned: Owned) => here.reviews.submitReview({ ...owned, quality: 4, requestId: 'r' }),
  'a snooze': ({ userId, materialId }: Owned) => {
    const asked = { userId, materialIds: [materialId], snoozeUntilTime: SNOOZED_UNTIL };
    return here.snoozes.snoozeMaterials({ ...asked, requestId: 'r' });
  },
  'an archiving': (owned: Owned) => here.materials.archiveMaterial({ ...owned, requestId: 'r' }),
};

test.each(
  Object.entries(REPEATABLE).flatMap(([name, write]) =>
    Object.entries(DELETIONS).map(([deletion, remove]) => [name, deletion, write, remove] as const),
  ),
)(
  '%s under a key of the day before yesterday waits for the deletion %s, which does not wait for it',
  async (_name, _deletion, write, remove) => {
    const outcome = await inTime(async () => {
      here.setClock('2030-01-01T00:00:00Z');
      const userId = newUserId();
      const owned = { userId, materialId: await here.create(userId) };
      await write(owned);
      here.setClock('2030-01-03T00:00:00Z');
      const reason = await inOrder(
        HOLD,
        owned.materialId,
        () => remove(owned),
        () => write(owned),
      );
      const kept = 'SELECT FROM scheduling.answered_requests WHERE user_id = $1';
      return [reason, (await here.sql.query(kept, [userId])).rowCount];
    });
    expect(outcome).toEqual(['NOT_FOUND', 0]);
  },
);

/** Ten ids, and how they are stored: in neither direction. */
const IDS = Array.from({ length: 10 }, (_, index) => `00000000-0000-7000-8000-00000000000${index}`);
const STORED = IDS.map((_, index) => IDS[(index * 7) % 10] ?? '');

/** While somebody holds the row of `table` with the sixth id: the rows that `work`, which reads no index, leaves to others. */
async function leftBy(
  [table, column]: readonly ['materials', 'material_id'] | readonly ['snoozes', 'snooze_id'],
  userId: string,
  work: (transaction: Queryable) => Promise<unknown>,
): Promise<string[]> {
  const [holder, worker] = [await openLock(here.databaseUrl), await openLock(here.databaseUrl)];
  let working: Promise<unknown> | undefined;
  const of = `FROM scheduling.${table} WHERE user_id = $1`;
  try {
    await holder.sql.query(`SELECT ${of} AND ${column} = $2 FOR UPDATE`, [userId, IDS[5]]);
    for (const way of ['indexscan', 'indexonlyscan', 'bitmapscan'])
      await worker.sql.query(`SET LOCAL enable_${way} = off`);
    working = work({
      query: async ({ text, values }) => (await worker.sql.query({ text, values: [...values] })).rows,
    });
    await holder.untilWaiting(1, working);
    const { rows } = await here.sql.query<{ id: string }>(
      `SELECT ${column} AS id ${of} FOR UPDATE SKIP LOCKED`,
      [userId],
    );
    return rows.map(({ id }) => id).toSorted();
  } finally {
    await holder.close();
    await working;
    await worker.close();
  }
}

test('materials and snoozes are locked from the lowest id on, however they lie and whatever the plan', async ({
  userId,
}) => {
  const materials = STORED.map((materialId) => ({ ...material(), materialId }));
  await storeFacts(here.sql, userId, { materials, reviews: [] });
  await here.sql.query(
    `INSERT INTO scheduling.snoozes SELECT $1, id, '2030-01-02Z', 'R', '2030-01-01Z' FROM unnest($2::uuid[]) AS id`,
    [userId, STORED],
  );
  await here.sql.query(
    `INSERT INTO scheduling.snoozed_materials (user_id, material_id, revision, snooze_id, position, after_next_review_time)
     SELECT $1, $3, row_number() OVER (), id, 1, '2030-01-02Z' FROM unnest($2::uuid[]) AS id`,
    [userId, STORED, IDS[0]],
  );
  const lock = (transaction: Queryable) => lockMaterials(transaction, userId, STORED);
  expect(await leftBy(['materials', 'material_id'], userId, lock)).toEqual(IDS.slice(6));
  const remove = (transaction: Queryable) =>
    deleteMaterial(transaction, userId, { materialId: IDS[0] ?? '', labels: null });
  expect(await leftBy(['snoozes', 'snooze_id'], userId, remove)).toEqual(IDS.slice(6));
});

let here: TestScheduling;

function takeServices({ scheduling }: Given<'scheduling'>): void {
  here = scheduling;
}

const SNOOZED_UNTIL = { seconds: Date.parse('2030-02-01T00:00:00Z') / 1000, nanos: 0 };

const HOLD = 'SELECT FROM scheduling.materials WHERE material_id = $1 FOR UPDATE';
const HOLD_USER = 'SELECT pg_advisory_xact_lock(scheduling.user_lock($1))';

/** Holds what `sql` locks until both wait, the first one first. @returns how the second ended. @throws what the first throws. */
async function inOrder(
  sql: string,
  id: string,
  first: () => Promise<unknown>,
  second: () => Promise<unknown>,
): Promise<string> {
  const lock = await openLock(here.databaseUrl);
  const sent: Promise<unknown>[] = [];
  try {
    await lock.sql.query(sql, [id]);
    for (const send of [first, second]) {
      sent.push(send());
      await lock.untilWaiting(sent.length, Promise.all(sent));
    }
  } finally {
    await lock.close();
    await Promise.allSettled(sent);
  }
  await sent[0];
  const reason = await refusal(sent[1] ?? Promise.resolve());
  if (reason === 'UNAVAILABLE') await sent[1];
  return reason;
}

type Owned = { userId: string; materialId: string };
