import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ReviewServiceDefinition } from '../../generated/scheduling/v1/ReviewService.ts';
import { createGrpcClient } from '../../services/platform/grpc-client.ts';
import { createLogger } from '../../services/platform/logger.ts';
import { openDatabase } from '../../services/platform/postgres.ts';
import { loadProto, serviceDefinition } from '../../services/platform/proto.ts';
import { reviewMaterial } from '../../services/scheduling/domain/review.ts';
import { createReviewTrips, type ReviewTrips } from '../../services/scheduling/handlers/review-trips.ts';
import { CALL, newUserId, startTestScheduling, type TestScheduling } from '../support/scheduling.ts';

let here: TestScheduling;
beforeAll(async () => {
  here = await startTestScheduling();
});
afterAll(() => here.stop());

const times = <T>(count: number, make: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)));

const makeLearners = (count: number) =>
  times(count, async (index) => {
    const userId = newUserId();
    return { userId, materialId: await here.create(userId, `Of learner ${index}`) };
  });

/** Reviews of a database of its own connections, seen statement by statement. */
function openTrips() {
  const database = openDatabase({
    ...{ databaseUrl: here.databaseUrl, applicationName: 'test', maxConnections: 4 },
    logger: createLogger('test', 'silent'),
  });
  const names: string[] = [];
  const listening = {
    ...database,
    query: ((statement) => {
      names.push(statement.name ?? '');
      return database.query(statement);
    }) as typeof database.query,
  };
  return {
    names,
    close: database.close,
    of: (isDistributed: boolean) => createReviewTrips(listening, isDistributed),
  };
}

const CALL_ORIGIN = { requestId: 'test', traceparent: undefined };
const REVIEW_TIME = new Date('2026-12-01T10:00:00Z');
const grade = (quality: 0 | 3 | 4 | 5) => ({ reviewId: newUserId(), quality, reviewTime: REVIEW_TIME });

describe('reviews at the same moment', () => {
  test('of 100 learners change each the own material, by the own grade', async () => {
    here.setClock('2026-12-01T10:00:00Z');
    const learners = await makeLearners(100);
    // SM-2 of the first review: ease 2.50 + (-0.80, -0.54, -0.32, -0.14, 0, +0.10), at least 1.30.
    const eases = [1.7, 1.96, 2.18, 2.36, 2.5, 2.6];
    const answers = await times(100, (index) =>
      here.reviews.submitReview({ ...learners[index], quality: index % 6 }, CALL),
    );
    for (const [index, { material, review }] of answers.entries()) {
      const { userId = '', materialId = '' } = learners[index] ?? {};
      const told = { materialId, title: `Of learner ${index}`, easeFactor: eases[index % 6], revision: 1 };
      expect(material).toMatchObject(told);
      expect(review).toMatchObject({ materialId, quality: index % 6, revision: 1 });
      const kept = await here.materials.getMaterial({ userId, materialId }, CALL);
      expect(kept.material).toEqual(material);
      const { reviews } = await here.reviews.listReviews({ userId }, CALL);
      expect(reviews).toEqual([review]);
    }
    here.setClock(undefined);
  });

  test('through two processes, ten of each of twenty materials, leave ten revisions each in a row', async () => {
    const other = await here.startAnother();
    const otherReviews = createGrpcClient(
      serviceDefinition<ReviewServiceDefinition>(
        loadProto('scheduling/v1/scheduling.proto'),
        'scheduling.v1.ReviewService',
      ),
      {
        target: `127.0.0.1:${other.port}`,
        trust: { serviceTokens: [], tls: undefined },
        caller: 'test',
        deadlineMs: 10_000,
      },
    );
    const learners = await makeLearners(20);
    const answers = await times(200, (index) => {
      const client = index % 2 === 0 ? here.reviews : otherReviews;
      return client.submitReview({ ...learners[index % 20], quality: 4 }, CALL);
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
    otherReviews.close();
    await other.close(1000);
  });

  test('of nobody’s and others’ materials are refused one by one', async () => {
    const [mine, other] = await makeLearners(2);
    const { userId = '', materialId = '' } = mine ?? {};
    const asked = [
      { userId, materialId },
      { userId, materialId: other?.materialId ?? '' },
      { userId, materialId: newUserId() },
    ];
    const outcomes = await Promise.allSettled(
      asked.map((request) => here.reviews.submitReview({ ...request, quality: 4 }, CALL)),
    );
    expect(outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason.reason : 'ok'))).toEqual(
      ['ok', 'NOT_FOUND', 'NOT_FOUND'],
    );
  });

  test('do not wait for a material that somebody else holds; its own review does', async () => {
    const learners = await makeLearners(5);
    const holder = new Client({ connectionString: here.databaseUrl });
    await holder.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT FROM scheduling.materials WHERE user_id = $1 FOR UPDATE', [
      learners[0]?.userId,
    ]);
    let heldIsDone = false;
    const held = here.reviews.submitReview({ ...learners[0], quality: 4 }, CALL).then(() => {
      heldIsDone = true;
    });
    await Promise.all(
      learners.slice(1).map((learner) => here.reviews.submitReview({ ...learner, quality: 4 }, CALL)),
    );
    expect(heldIsDone).toBe(false);
    await holder.query('COMMIT');
    await held;
    await holder.end();
  });
});

/** The learners' materials, all of which there are. */
async function findAll({ find }: ReviewTrips, learners: readonly { userId: string; materialId: string }[]) {
  const found = await Promise.all(learners.map(find));
  return found.map((material) => {
    if (material === undefined) throw new Error('not found');
    return material;
  });
}

describe('the trips of reviews', () => {
  test('are two statements for five learners on one PostgreSQL, ten where users lie on different nodes', async () => {
    const trips = openTrips();
    for (const isDistributed of [false, true]) {
      const own = trips.of(isDistributed);
      const learners = await makeLearners(5);
      const found = await findAll(own, learners);
      const applied = await Promise.all(
        found.map((material, index) =>
          own.apply({
            userId: learners[index]?.userId ?? '',
            origin: CALL_ORIGIN,
            review: reviewMaterial(material, grade(4)).review,
          }),
        ),
      );
      expect(applied).toEqual([true, true, true, true, true]);
    }
    const five = (name: string) => Array.from({ length: 5 }, () => name);
    expect(trips.names).toEqual([
      'find-materials-of-users',
      'apply-reviews',
      ...five('find-material'),
      ...five('apply-review'),
    ]);
    await trips.close();
  });

  test('apply nothing of a review whose material has changed since, and all of its neighbours', async () => {
    const trips = openTrips();
    const own = trips.of(false);
    const learners = await makeLearners(3);
    const found = await findAll(own, learners);
    const reviews = found.map((material) => reviewMaterial(material, grade(5)).review);
    await here.reviews.submitReview({ ...learners[1], quality: 0 }, CALL);
    const applied = await Promise.all(
      reviews.map((review, index) =>
        own.apply({ userId: learners[index]?.userId ?? '', origin: CALL_ORIGIN, review }),
      ),
    );
    expect(applied).toEqual([true, false, true]);
    const counts = await here.sql.query(
      'SELECT quality FROM scheduling.reviews WHERE user_id = ANY($1) ORDER BY quality',
      [learners.map(({ userId }) => userId)],
    );
    expect(counts.rows.map(({ quality }) => quality)).toEqual([0, 5, 5]);
    await trips.close();
  });

  test('that fail for one fail for that one alone', async () => {
    const trips = openTrips();
    const own = trips.of(false);
    const learners = await makeLearners(3);
    const found = await findAll(own, learners);
    const outcomes = await Promise.allSettled(
      found.map((material, index) => {
        // PostgreSQL stores no U+0000, and gRPC lets none through.
        const origin = { requestId: index === 1 ? 'r\u0000' : 'r', traceparent: undefined };
        const { review } = reviewMaterial(material, grade(3));
        return own.apply({ userId: learners[index]?.userId ?? '', origin, review });
      }),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    await trips.close();
  });
});
