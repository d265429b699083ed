import { pino } from 'pino';
import { describe, expect } from 'vitest';
import type { SubmitReviewRequest } from '../../generated/scheduling/v1/SubmitReviewRequest.ts';
import { ServiceError } from '../../services/platform/errors.ts';
import type { CallContext } from '../../services/platform/grpc/handlers.ts';
import { gatheredOn } from '../../services/scheduling/gathered.ts';
import { createReviewHandlers } from '../../services/scheduling/reviews/handlers.ts';
import { reviewMaterial } from '../../services/scheduling/reviews/review.ts';
import { applyReviews, findMaterialsToReview } from '../../services/scheduling/reviews/sql.ts';
import { type Given, test } from '../fixtures.ts';
import { openPool } from '../support/database.ts';
import { inTime, openLock } from '../support/row-locks.ts';
import { newUserId, refusal, type TestScheduling } from '../support/scheduling.ts';
import { untilAvailable } from '../support/system.ts';

test.beforeAll(takeServices);

describe('reviews at the same moment', () => {
  test('of 50 learners change each the own material, by the own grade', async () => {
    here.setClock('2026-12-01T10:00:00Z');
    const learners = await makeLearners(50);
    // SM-2 of the first review: ease 2.50 + (-0.80, -0.54, -0.32, -0.14, 0, +0.10), at least 1.30.
    const eases = [1.7, 1.96, 2.18, 2.36, 2.5, 2.6];
    const answers = await times(50, (index) =>
      untilAvailable(() => here.reviews.submitReview({ ...learners[index], quality: index % 6 })),
    );
    for (const [index, { material, review }] of answers.entries()) {
      const { userId = '', materialId = '' } = learners[index] ?? {};
      const told = { materialId, title: `Of learner ${index}`, easeFactor: eases[index % 6], revision: 1 };
      expect(material).toMatchObject(told);
      expect(review).toMatchObject({ materialId, quality: index % 6, revision: 1 });
      const kept = await here.materials.getMaterial({ userId, materialId });
      expect(kept.material).toEqual(material);
      const { reviews } = await here.reviews.listReviews({ userId });
      expect(reviews).toEqual([review]);
    }
    here.setClock(undefined);
  });

  test('of learners with several materials change each the one that was reviewed', async () => {
    const learners = await makeLearners(10);
    for (const { userId } of learners) await here.create(userId, 'Another');
    const found: { userId: string; materialId: string; title: string }[] = [];
    for (const { userId } of learners) {
      const { materials } = await here.materials.listMaterials({ userId });
      found.push(...materials.map(({ materialId, title }) => ({ userId, materialId, title })));
    }
    const answers = await Promise.all(
      found.map(({ userId, materialId }) =>
        untilAvailable(() => here.reviews.submitReview({ userId, materialId, quality: 4 })),
      ),
    );
    expect(
      answers.map(({ material }) => [material?.materialId, material?.title, material?.revision]),
    ).toEqual(found.map(({ materialId, title }) => [materialId, title, 1]));
  });

  test('through two processes, ten of each of eight materials, leave ten revisions each in a row', async ({
    otherScheduling,
  }) => {
    const learners = await makeLearners(8);
    const answers = await times(80, (index) => {
      const client = index % 2 === 0 ? here.reviews : otherScheduling.reviews;
      return untilAvailable(() => client.submitReview({ ...learners[index % 8], quality: 4 }));
    });
    for (const [index, { materialId }] of learners.entries()) {
      const own = answers.filter(({ review }) => review?.materialId === materialId);
      const inOrder = own
        .map(({ review }) => review)
        .toSorted((a, b) => (a?.revision ?? 0) - (b?.revision ?? 0));
      expect(
        inOrder.map((review) => review?.revision),
        `learner ${index}`,
      ).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
      for (const [position, review] of inOrder.entries())
        if (position > 0) expect(review?.before).toEqual(inOrder[position - 1]?.after);
    }
  });

  test('of unknown materials and of other users’ materials are refused one by one', async () => {
    const [mine, other] = await makeLearners(2);
    const { userId = '', materialId = '' } = mine ?? {};
    const asked = [
      { userId, materialId },
      { userId, materialId: other?.materialId ?? '' },
      { userId, materialId: newUserId() },
    ];
    const outcomes = await Promise.allSettled(
      asked.map((request) => here.reviews.submitReview({ ...request, quality: 4 })),
    );
    expect(outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason.reason : 'ok'))).toEqual(
      ['ok', 'NOT_FOUND', 'NOT_FOUND'],
    );
  });

  test('do not wait for a material that somebody else holds; its own review does', async () => {
    const submit = (learner: object) => here.reviews.submitReview({ ...learner, quality: 4 });
    const heldIsFirst = await inTime(async () => {
      const [first, ...others] = await makeLearners(5);
      const lock = await openLock(here.databaseUrl);
      try {
        await lock.sql.query('SELECT FROM scheduling.materials WHERE user_id = $1 FOR UPDATE', [
          first?.userId,
        ]);
        let isDone = false;
        const held = submit({ ...first }).then(() => {
          isDone = true;
        });
        // Awaited below, and may fail before.
        held.catch(() => {});
        await Promise.all(others.map(submit));
        const isFirst = isDone;
        await lock.release();
        await held;
        return isFirst;
      } finally {
        await lock.close();
      }
    });
    expect(heldIsFirst).toBe(false);
  });
});

/** Repositories with a database of its own connections, seen statement by statement. What `lost` names is done, but not answered. */
function listen(lost?: string) {
  const database = openPool(here.databaseUrl, 4);
  const names: string[] = [];
  const users: unknown[] = [];
  const query: typeof database.query = async (statement) => {
    names.push(statement.name ?? '');
    users.push(statement.values[0]);
    const rows = await database.query<never>(statement);
    if (statement.name === lost) throw new ServiceError('UNAVAILABLE');
    return rows;
  };
  return { names, users, database: { ...database, query } };
}

describe('reviews of one and of several', () => {
  test('do and answer the same, by one statement for all and by one for each', async () => {
    const grades = [0, 1, 2, 3, 4, 5] as const;
    const graded = async (together: boolean) => {
      const { names, database } = listen();
      const learners = await makeLearners(grades.length);
      const materials = await findMaterialsToReview(database, learners);
      const reviews = learners.map(({ userId, materialId }, index) => {
        const material = materials[index];
        if (material === undefined) throw new Error(`no material ${materialId}`);
        const quality = grades[index] ?? 0;
        const grade = { reviewId: newUserId(), quality, reviewTime: REVIEW_TIME, requestId: 'test' };
        return { userId, review: reviewMaterial(material, grade).review, traceparent: undefined };
      });
      const applied = together
        ? await applyReviews(database, reviews)
        : (await Promise.all(reviews.map((review) => applyReviews(database, [review])))).flat();
      expect(applied).toEqual([true, true, true, true, true, true]);
      const { rows } = await here.sql.query(
        `SELECT r.*, m.ease_factor_hundredths, m.interval_days, m.repetitions, m.next_review_time, m.update_time,
           m.last_reviewed_time, m.revision AS material_revision
         FROM scheduling.reviews r JOIN scheduling.materials m USING (user_id, material_id)
         WHERE user_id = ANY($1) ORDER BY quality`,
        [learners.map(({ userId }) => userId)],
      );
      await database.close();
      const told = rows.map(({ user_id, material_id, review_id, before_next_review_time, ...row }) => row);
      return { told, names };
    };
    const [one, several] = [await graded(false), await graded(true)];
    expect(several.told).toEqual(one.told);
    expect(several.told.map((row) => [row.quality, row.ease_factor_hundredths, row.repetitions])).toEqual([
      [0, 170, 0],
      [1, 196, 0],
      [2, 218, 0],
      [3, 236, 1],
      [4, 250, 1],
      [5, 260, 1],
    ]);
    const find = 'find-material-to-review-several';
    expect(several.names).toEqual([find, 'apply-review-several']);
    expect(one.names).toEqual([find, ...Array.from({ length: 6 }, () => 'apply-review')]);
  });

  test('apply nothing of a review whose material has changed since, and all of its neighbours', async () => {
    const { database } = listen();
    const learners = await makeLearners(3);
    const materials = await findMaterialsToReview(database, learners);
    await here.reviews.submitReview({ ...learners[1], quality: 0 });
    const reviews = learners.flatMap(({ userId }, index) => {
      const material = materials[index];
      if (material === undefined) return [];
      const grade = { reviewId: newUserId(), reviewTime: REVIEW_TIME, requestId: 'test' };
      const { review } = reviewMaterial(material, { ...grade, quality: 5 });
      return [{ userId, review, traceparent: undefined }];
    });
    expect(await applyReviews(database, reviews)).toEqual([true, false, true]);
    const counts = await here.sql.query(
      'SELECT quality FROM scheduling.reviews WHERE user_id = ANY($1) ORDER BY quality',
      [learners.map(({ userId }) => userId)],
    );
    expect(counts.rows.map(({ quality }) => quality)).toEqual([0, 5, 5]);
    await database.close();
  });
});

/** Handlers on a database of their own connections, seen statement by statement. */
function handlersOf(isDistributed: boolean, lost?: string) {
  const { names, users, database } = listen(lost);
  const newId = () => newUserId();
  const handlers = createReviewHandlers({
    database,
    now: () => REVIEW_TIME,
    wallClock: () => REVIEW_TIME,
    newId,
    isDistributed,
    gathered: gatheredOn(database, { isDistributed }),
  });
  const submit = (request: { userId: string; materialId: string }, origin: Partial<CallContext> = {}) =>
    handlers.SubmitReview({ ...request, quality: 3, requestId: '' } as SubmitReviewRequest, {
      requestId: 'test',
      traceparent: undefined,
      caller: 'test',
      signal: new AbortController().signal,
      ...origin,
    });
  return { names, users, submit, close: () => database.close() };
}

describe('the statements of reviews of one moment', () => {
  test('are two for five learners on one PostgreSQL, ten where users lie on different nodes', async () => {
    const learners = await makeLearners(5);
    const together = handlersOf(false);
    await Promise.all(learners.map((learner) => together.submit(learner)));
    expect(together.names).toEqual(['find-material-to-review-several', 'apply-review-several']);
    const apart = handlersOf(true);
    await Promise.all(learners.map((learner) => apart.submit(learner)));
    expect(apart.names.toSorted()).toEqual([
      ...Array.from({ length: 5 }, () => 'apply-review'),
      ...Array.from({ length: 5 }, () => 'find-material-to-review'),
    ]);
    await together.close();
    await apart.close();
  });

  test('have a learner who sends one beside another who sends more than a statement holds', async () => {
    const [busy = '', other = ''] = [newUserId(), newUserId()];
    const reviews: { userId: string; materialId: string }[] = [];
    for (const userId of [...Array<string>(17).fill(busy), other])
      reviews.push({ userId, materialId: await here.create(userId, 'T') });
    const { users, submit, close } = handlersOf(false);
    await Promise.all(reviews.map((review) => submit(review)));
    expect(users[0]).toEqual([busy, other, ...Array<string>(14).fill(busy)]);
    await close();
  });

  test('that come too late are logged for each request by its own id', async () => {
    const lines: { msg: string; requestId?: string }[] = [];
    const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const { reviews, stop } = await here.startAnother({ logger });
    const learners = await makeLearners(3);
    const lock = await openLock(here.databaseUrl);
    await lock.sql.query('LOCK TABLE scheduling.materials');
    const late = learners.map((learner, index) =>
      refusal(reviews.submitReview({ ...learner, quality: 4 }, { requestId: `late ${index}` })),
    );
    expect(await Promise.all(late)).toEqual(Array(3).fill('UNAVAILABLE'));
    await lock.close();
    await stop();
    const told = lines.filter(({ msg }) => msg === 'call failed: unavailable');
    expect(told.map(({ requestId }) => requestId).toSorted()).toEqual(['late 0', 'late 1', 'late 2']);
  });

  test('that fail for one fail for that one alone', async () => {
    const { submit, close } = handlersOf(false);
    const learners = await makeLearners(3);
    // PostgreSQL stores no U+0000, and gRPC lets none through.
    const outcomes = await Promise.allSettled(
      learners.map((learner, index) => submit(learner, { requestId: index === 1 ? 'r\u0000' : 'r' })),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    await close();
  });

  test('are not made again where it is not known what they did', async () => {
    const { submit, close } = handlersOf(false, 'apply-review-several');
    const learners = await makeLearners(3);
    const outcomes = await Promise.allSettled(learners.map((learner) => submit(learner)));
    expect(outcomes).toMatchObject(Array(3).fill({ status: 'rejected', reason: { reason: 'UNAVAILABLE' } }));
    const { rows } = await here.sql.query('SELECT revision FROM scheduling.reviews WHERE user_id = ANY($1)', [
      learners.map(({ userId }) => userId),
    ]);
    expect(rows).toEqual([{ revision: 1 }, { revision: 1 }, { revision: 1 }]);
    await close();
  });
});

let here: TestScheduling;

function takeServices({ scheduling }: Given<'scheduling'>): void {
  here = scheduling;
}

const REVIEW_TIME = new Date('2026-12-01T10:00:00Z');

const times = <T>(count: number, make: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)));

/** Each with a new material of their own. */
async function makeLearners(count: number) {
  const learners = Array.from({ length: count }, () => ({ userId: newUserId(), materialId: newUserId() }));
  await here.sql.query(
    `SELECT scheduling.insert_material(user_id, material_id, 'Of learner ' || place - 1, NULL, NULL, 'simple', 250, 0, 0,
       $3, $3)
     FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS made (user_id, material_id, place)`,
    [learners.map(({ userId }) => userId), learners.map(({ materialId }) => materialId), here.now()],
  );
  return learners;
}
