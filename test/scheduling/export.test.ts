// An export: exact to the millisecond, complete at every border of what is read at a time, and while others write.
import { describe, expect } from 'vitest';
import type { ExportUserDataResponse } from '../../generated/scheduling/v1/ExportUserDataResponse.ts';
import type { Database } from '../../services/platform/postgres/database.ts';
import { gatheredOn } from '../../services/scheduling/gathered.ts';
import { createUserDataHandlers } from '../../services/scheduling/user-data/handlers.ts';
import { type Given, test } from '../fixtures.ts';
import { openPool } from '../support/database.ts';
import { exportWhole } from '../support/imports.ts';
import { at, newUserId, type TestScheduling } from '../support/scheduling.ts';
import { material, review, storeFacts } from './stats-facts.ts';

test.beforeAll(takeServices);

describe('an export', () => {
  test('tells revisions, schedules and instants to the millisecond', async ({ userId }) => {
    here.setClock('2030-01-01T00:00:00.001Z');
    const fields = { title: 'T', content: 'C', sourceUrl: 'a:b', type: 'MATERIAL_TYPE_CARD' } as const;
    const { material } = await here.materials.createMaterial({ userId, ...fields });
    const materialId = material?.materialId ?? '';
    here.setClock('2030-01-01T00:00:00.002Z');
    const { review } = await here.reviews.submitReview({ userId, materialId, quality: 5 });
    here.setClock('2030-01-01T00:00:00.003Z');
    const until = { snoozeUntilTime: at('2030-01-05T00:00:00.999Z'), reason: 'R' };
    const { snooze } = await here.snoozes.snoozeMaterials({ userId, materialIds: [materialId], ...until });
    here.setClock('2030-01-01T00:00:00.004Z');
    const { review: second } = await here.reviews.submitReview({ userId, materialId, quality: 2 });
    here.setClock('2030-01-01T00:00:00.005Z');
    await here.materials.archiveMaterial({ userId, materialId });
    here.setClock(undefined);
    const start = { easeFactor: 2.5, intervalDays: 0, repetitions: 0 };
    const afterFirst = { easeFactor: 2.6, intervalDays: 1, repetitions: 1 };
    const afterSecond = { easeFactor: 2.28, intervalDays: 1, repetitions: 0 };
    const unmarked = { undoTime: null, undoActor: '', undoRevision: 0, apiKeyId: '' };
    const byDefault = { scheduler: 'SCHEDULER_SM2', settingsVersion: 0, ...unmarked };
    const told = (await exported(userId)).map((record) => record.material ?? record.review ?? record.snooze);
    expect(told).toEqual([
      {
        materialId,
        ...fields,
        ...afterSecond,
        revision: 4,
        labels: [],
        nextReviewTime: at('2030-01-02T00:00:00.004Z'),
        lastReviewedTime: at('2030-01-01T00:00:00.004Z'),
        createTime: at('2030-01-01T00:00:00.001Z'),
        updateTime: at('2030-01-01T00:00:00.005Z'),
        archiveTime: at('2030-01-01T00:00:00.005Z'),
      },
      {
        reviewId: review?.reviewId,
        materialId,
        quality: 5,
        revision: 1,
        requestId: 'test',
        ...byDefault,
        reviewTime: at('2030-01-01T00:00:00.002Z'),
        before: { ...start, nextReviewTime: at('2030-01-01T00:00:00.001Z') },
        after: { ...afterFirst, nextReviewTime: at('2030-01-02T00:00:00.002Z') },
      },
      {
        reviewId: second?.reviewId,
        materialId,
        quality: 2,
        revision: 3,
        requestId: 'test',
        ...byDefault,
        reviewTime: at('2030-01-01T00:00:00.004Z'),
        before: { ...afterFirst, nextReviewTime: at('2030-01-05T00:00:00.999Z') },
        after: { ...afterSecond, nextReviewTime: at('2030-01-02T00:00:00.004Z') },
      },
      {
        snoozeId: snooze?.snoozeId,
        materialIds: [materialId],
        reason: 'R',
        snoozeUntilTime: at('2030-01-05T00:00:00.999Z'),
        createTime: at('2030-01-01T00:00:00.003Z'),
        actor: 'test',
        apiKeyId: '',
        requestId: 'test',
        cancelTime: null,
        cancellableMaterials: 0,
        materialCount: 1,
        spreadDays: 0,
        movedMaterials: 1,
      },
    ]);
  });

  test.for([
    { count: 0, bytes: 0 },
    { count: 1, bytes: 0 },
    { count: 500, bytes: 0 },
    { count: 501, bytes: 0 },
    { count: 1001, bytes: 0 },
    { count: 5, bytes: 200_000 },
    { count: 6, bytes: 200_000 },
    { count: 11, bytes: 200_000 },
    { count: 4, bytes: 260_000 },
  ] as const)(
    'of $count materials of $bytes bytes holds each once, in the order of their ids, also as whole materials',
    async (materials, { userId }) => {
      await here.sql.query(
        `INSERT INTO scheduling.materials (user_id, material_id, title, content, type, ease_factor_hundredths, interval_days,
         repetitions, create_time, update_time)
       SELECT $1, gen_random_uuid(), 'T', repeat('x', $3), 'simple', 250, 1, 1, '2030-01-01Z', '2030-01-01Z'
       FROM generate_series(1, $2)`,
        [userId, materials.count, materials.bytes],
      );
      const ids = (await exported(userId)).map(({ material }) => material?.materialId ?? '');
      expect(ids).toEqual(ids.toSorted());
      expect([ids.length, new Set(ids).size]).toEqual([materials.count, materials.count]);
      const whole = await exportWhole(here, userId);
      expect(whole.map(({ wholeMaterial }) => wholeMaterial?.material?.materialId)).toEqual(ids);
    },
  );

  test('of more snoozes and reviews of one millisecond than are read at a time holds each once', async ({
    userId,
  }) => {
    await here.sql.query(
      `INSERT INTO scheduling.snoozes
       SELECT $1, gen_random_uuid(), '2030-01-02Z', 'R', '2030-01-01Z' FROM generate_series(1, 1001)`,
      [userId],
    );
    await here.sql.query(
      `INSERT INTO scheduling.reviews
       SELECT $1, $2, n, gen_random_uuid(), 4, '2030-01-01Z', 250, 0, 0, NULL, 250, 1, 1, '2030-01-02Z'
       FROM generate_series(1, 1001) n`,
      [userId, await here.create(userId)],
    );
    const records = await exported(userId);
    const ids = records.flatMap(({ snooze, review }) => snooze?.snoozeId ?? review?.reviewId ?? []);
    expect([ids.length, new Set(ids).size]).toEqual([2002, 2002]);
  });

  test('tells once what was there when it began, whatever is written while it runs', async ({ userId }) => {
    const ids = Array.from({ length: 45 }, () => newUserId());
    const [materialId = ''] = ids;
    // More than is on its way to a client that does not read on.
    await here.sql.query(
      `INSERT INTO scheduling.materials (user_id, material_id, title, content, type, ease_factor_hundredths, interval_days,
         repetitions, create_time, update_time)
       SELECT $1, id, 'early', repeat('x', 200000), 'simple', 250, 0, 0, '2030-01-01Z', '2030-01-01Z'
       FROM unnest($2::uuid[]) AS id`,
      [userId, ids],
    );
    await here.reviews.submitReview({ userId, materialId, quality: 5 });
    const records = await exported(userId, async () => {
      await here.create(userId, 'late');
      await here.reviews.submitReview({ userId, materialId, quality: 3 });
      await here.materials.archiveMaterial({ userId, materialId: ids.at(-1) ?? '' });
    });
    const told = records.flatMap(({ material }) => (material?.title === 'early' ? material.materialId : []));
    expect(told).toEqual(ids.toSorted());
    expect(records.flatMap(({ review }) => review?.quality ?? []).slice(0, 1)).toEqual([5]);
  });

  test('gives each material its own reviews, also where another comes in between while it runs', async ({
    userId,
  }) => {
    const add = (place: number, quality: number) => {
      const of = material({ materialId: `${userId.slice(0, -1)}${place}` });
      const reviews = [review(of, '2030-01-01T00:00:00Z', quality)];
      return storeFacts(here.sql, userId, { materials: [of], reviews });
    };
    await add(1, 3);
    await add(3, 5);
    const database = openPool(here.databaseUrl);
    const { ExportUserData } = handlersOf({
      ...database,
      async query(statement) {
        if (statement.name === 'read-reviews-by-material') await add(2, 4);
        return database.query(statement);
      },
    });
    const told: (number | undefined)[][] = [];
    await ExportUserData({ userId, whole: true }, callOf(new AbortController()), async (message) => {
      told.push(message.wholeMaterial?.reviews?.map(({ quality }) => quality) ?? []);
    });
    expect(told).toEqual([[3], [5]]);
    expect((await here.materials.countMaterials({ userId })).active).toBe(3);
    await database.close();
  });

  test('reads nothing more for a client who has hung up', async ({ userId }) => {
    for (let index = 0; index < 3; index += 1) await here.create(userId);
    const database = openPool(here.databaseUrl);
    const client = new AbortController();
    let statements = 0;
    const counting: Database = {
      ...database,
      query(statement) {
        statements += 1;
        return database.query(statement);
      },
    };
    const { ExportUserData } = handlersOf(counting);
    await ExportUserData({ userId, whole: false }, callOf(client), async () => client.abort());
    expect(statements).toBe(1);
    await database.close();
  });
});

let here: TestScheduling;

function takeServices({ scheduling }: Given<'scheduling'>): void {
  here = scheduling;
}

const handlersOf = (database: Database) =>
  createUserDataHandlers({
    database,
    now: here.now,
    wallClock: here.now,
    newId: () => newUserId(),
    isDistributed: false,
    gathered: gatheredOn(database, { isDistributed: false }),
  });
const callOf = ({ signal }: AbortController) => ({
  requestId: 'test',
  caller: 'test',
  traceparent: undefined,
  signal,
});

async function exported(userId: string, afterFirst = async () => {}): Promise<ExportUserDataResponse[]> {
  const records: ExportUserDataResponse[] = [];
  for await (const record of here.userData.exportUserData({ userId }))
    if (records.push(record) === 1) await afterFirst();
  return records;
}
