// Two writers of one material, the second sent while the first waits: neither undoes what the other did.
import { Client, credentials } from '@grpc/grpc-js';
import { beforeEach, describe, expect } from 'vitest';
import type { ReviewServiceDefinition } from '../../generated/scheduling/v1/ReviewService.ts';
import type { SnoozeMaterialsRequestInput } from '../../generated/scheduling/v1/SnoozeMaterialsRequest.ts';
import type { SnoozeServiceDefinition } from '../../generated/scheduling/v1/SnoozeService.ts';
import type { SubmitReviewRequestInput } from '../../generated/scheduling/v1/SubmitReviewRequest.ts';
import { ServiceError } from '../../services/platform/errors.ts';
import { loadProto, serviceDefinition } from '../../services/platform/protobuf/load.ts';
import { type Given, test } from '../fixtures.ts';
import { driftOf } from '../support/drift.ts';
import { inTime, lockMaterial, openLock, queueOn } from '../support/row-locks.ts';
import { at, newUserId, refusal, type SchedulingClients } from '../support/scheduling.ts';

test.beforeAll(takeServices);
beforeEach(() => here.setClock('2030-01-01T00:00:00Z'));

const names = [
  'a review',
  'a repeatable review',
  'a snooze',
  'an edit of the title',
  'an edit of the content and the type',
  'an archiving',
] as const;

describe('of two writers that wait for one material', () => {
  test.each(
    names.flatMap((first) => names.filter((second) => second !== first).map((second) => [first, second])),
  )('%s and then %s both stand', async (first = '', second = '') => {
    const owned = await writeBoth(first, second);
    const leaves = [writer(first).leaves, writer(second).leaves];
    const { material } = await here.materials.getMaterial(owned);
    expect(material).toMatchObject({
      title: 'Old',
      type: 'MATERIAL_TYPE_SIMPLE',
      archiveTime: null,
      revision: 2,
      easeFactor: 2.5,
      repetitions: 0,
      intervalDays: 0,
      nextReviewTime: NOW,
      ...leaves[0],
      ...leaves[1],
      ...(leaves.every((left) => left === GRADED) && GRADED_TWICE),
    });
    const { reviews } = await here.reviews.listReviews(owned);
    expect(reviews).toHaveLength(leaves.filter((left) => left === GRADED).length);
    // A review tells what it has found: what the one before it has left.
    if (leaves[1] === GRADED)
      expect(reviews[0]).toMatchObject({
        before: { nextReviewTime: NOW, ...timeOf(leaves[0]) },
        revision: 2,
      });
  });

  test.each(names)(
    'a deletion after %s takes all of it, and before it leaves nothing to write to',
    async (name) => {
      const remove = ({ materials }: SchedulingClients, of: Owned) => materials.deleteMaterial(of);
      const outcome = await inTime(async () => {
        const owned = [newUserId(), newUserId()].map(async (userId) => ({
          userId,
          materialId: await here.create(userId),
        }));
        const [after, before] = await Promise.all(owned);
        if (after === undefined || before === undefined) throw new Error('not made');
        await queueOn(here.databaseUrl, after.materialId, [
          () => writer(name).write(here, after),
          () => remove(there, after),
        ]);
        const late = queueOn(here.databaseUrl, before.materialId, [
          () => remove(here, before),
          () => writer(name).write(there, before),
        ]);
        const reason = await refusal(late);
        if (reason === 'UNAVAILABLE') await late;
        return [reason, ...(await leftOf(after)), ...(await leftOf(before))];
      });
      expect(outcome).toEqual(['NOT_FOUND', 0, 0, 0, 0, 0, 0]);
    },
  );
});

const NOW = at('2030-01-01T00:00:00Z');
const SNOOZED_UNTIL = at('2030-01-20T00:00:00Z');
const GRADED = {
  easeFactor: 2.6,
  repetitions: 1,
  intervalDays: 1,
  nextReviewTime: at('2030-01-02T00:00:00Z'),
};
const GRADED_TWICE = {
  easeFactor: 2.7,
  repetitions: 2,
  intervalDays: 6,
  nextReviewTime: at('2030-01-07T00:00:00Z'),
};

/** Each with what it leaves in the material. */
const WRITERS: Record<
  (typeof names)[number],
  { write(to: SchedulingClients, of: Owned): Promise<unknown>; leaves: object }
> = {
  'a review': {
    write: ({ reviews }, of) => reviews.submitReview({ ...of, quality: 5 }),
    leaves: GRADED,
  },
  'a repeatable review': {
    write: ({ reviews }, of) => reviews.submitReview({ ...of, quality: 5, requestId: 'r' }),
    leaves: GRADED,
  },
  'a snooze': {
    write: ({ snoozes }, { userId, materialId }) =>
      snoozes.snoozeMaterials({ userId, materialIds: [materialId], snoozeUntilTime: SNOOZED_UNTIL }),
    leaves: { nextReviewTime: SNOOZED_UNTIL },
  },
  'an edit of the title': {
    write: ({ materials }, of) => materials.updateMaterial({ ...of, title: 'New' }),
    leaves: { title: 'New' },
  },
  'an edit of the content and the type': {
    write: ({ materials }, of) =>
      materials.updateMaterial({ ...of, content: 'C', type: 'MATERIAL_TYPE_CARD' }),
    leaves: { content: 'C', type: 'MATERIAL_TYPE_CARD' },
  },
  'an archiving': {
    write: ({ materials }, of) => materials.archiveMaterial(of),
    leaves: { archiveTime: NOW },
  },
};

describe('of two writers that wait for one material, of which one takes back or puts off', () => {
  test.for<[first: string, second: string, before: object, outcomes: unknown[], leaves: object]>([
    ['an undo', 'an undo', REVIEWED_ONCE, ['no error', 'no error'], { ...NEW, revision: 2 }],
    ['an undo', 'a review', REVIEWED_ONCE, ['no error', 'no error'], { ...GRADED, revision: 3 }],
    [
      'a review',
      'an undo',
      REVIEWED_ONCE,
      ['no error', 'REVIEW_NOT_LATEST'],
      { ...GRADED_TWICE, revision: 2 },
    ],
    [
      'an undo',
      'a snooze',
      REVIEWED_ONCE,
      ['no error', 'no error'],
      { repetitions: 0, nextReviewTime: SNOOZED_UNTIL },
    ],
    [
      'a snooze',
      'an undo',
      REVIEWED_ONCE,
      ['no error', 'MATERIAL_CHANGED'],
      { repetitions: 1, nextReviewTime: SNOOZED_UNTIL },
    ],
    ['a spread', 'a spread', NEW, [1, 0], { repetitions: 0, nextReviewTime: TOMORROW, revision: 1 }],
    ['a spread', 'a review', NEW, [1, 'no error'], { ...GRADED, revision: 2 }],
    ['a review', 'a spread', NEW, ['no error', 0], { ...GRADED, revision: 1 }],
    ['a spread', 'a snooze', NEW, [1, 'no error'], { repetitions: 0, nextReviewTime: SNOOZED_UNTIL }],
    ['a snooze', 'a spread', NEW, ['no error', 0], { repetitions: 0, nextReviewTime: SNOOZED_UNTIL }],
  ])('%s and then %s', async ([first, second, before, expected, leaves]) => {
    const { owned, outcomes } = await inTime(async () => {
      const userId = newUserId();
      const materialId = await here.create(userId);
      const owned = { userId, materialId, reviewId: '' };
      if (before === REVIEWED_ONCE)
        owned.reviewId =
          (await here.reviews.submitReview({ userId, materialId, quality: 5 })).review?.reviewId ?? '';
      const outcomes: unknown[] = [];
      await queueOn(
        here.databaseUrl,
        materialId,
        [first, second].map((name, index) => async () => {
          outcomes[index] = await TAKING_BACK[name]?.(index === 0 ? here : there, owned);
        }),
      );
      if (outcomes.includes('UNAVAILABLE')) throw new ServiceError('UNAVAILABLE');
      return { owned, outcomes };
    });
    expect(outcomes).toEqual(expected);
    const { userId, materialId } = owned;
    expect((await here.materials.getMaterial({ userId, materialId })).material).toMatchObject(leaves);
    expect(await driftOf(here, userId)).toEqual([]);
  });
});

test('a review by FSRS that waited for the first one of its day counts as a later one of that day', async () => {
  const owned = await inTime(async () => {
    const userId = newUserId();
    const owned = { userId, materialId: await here.create(userId) };
    await here.learners.updateLearnerSettings({ userId, scheduler: 'SCHEDULER_FSRS' });
    const grade = (quality: number) => () => here.reviews.submitReview({ ...owned, quality });
    await queueOn(here.databaseUrl, owned.materialId, [grade(1), grade(5)]);
    return owned;
  });
  const { reviews } = await here.reviews.listReviews(owned);
  // As a first review of the material, the second would be due after 8 days.
  expect(reviews.map(({ quality, after }) => [quality, after?.intervalDays])).toEqual([
    [5, 1],
    [1, 1],
  ]);
  expect(await driftOf(here, owned.userId)).toEqual([]);
});

/** When the material says that it was updated, after a write that was sent 5 s before it got the material. */
const updatedAfterWaiting = (prepare: (of: Owned) => Promise<() => Promise<unknown>>) =>
  inTime(async () => {
    const userId = newUserId();
    const owned = { userId, materialId: await here.create(userId, 'Old') };
    const write = await prepare(owned);
    const lock = await lockMaterial(here.databaseUrl, owned.materialId);
    try {
      const sent = write();
      await lock.untilWaiting(1, sent);
      here.setClock('2030-01-01T00:00:05Z');
      await lock.release();
      await sent;
    } finally {
      here.setClock('2030-01-01T00:00:00Z');
      await lock.close();
    }
    return (await here.materials.getMaterial(owned)).material?.updateTime;
  });

describe('the time of an update is that at which the writer got the material, not that at which it began to wait', () => {
  test.each(names)('by %s', async (name) => {
    const updateTime = await updatedAfterWaiting(async (owned) => () => writer(name).write(here, owned));
    expect(updateTime).toEqual(at('2030-01-01T00:00:05Z'));
  });

  test('by the end of a snooze', async () => {
    const updateTime = await updatedAfterWaiting(async (owned) => {
      const { userId, materialId } = owned;
      const asked = { userId, materialIds: [materialId], snoozeUntilTime: SNOOZED_UNTIL };
      const { snooze } = await here.snoozes.snoozeMaterials(asked);
      return () => here.snoozes.cancelSnooze({ userId, snoozeId: snooze?.snoozeId ?? '' });
    });
    expect(updateTime).toEqual(at('2030-01-01T00:00:05Z'));
  });
});

test('a writer of a material that is held for too long says to try again later, and has written nothing', async () => {
  const made = await Promise.all(
    names.map(async (name) => {
      const userId = newUserId();
      return { name, owned: { userId, materialId: await here.create(userId) } };
    }),
  );
  const outcomes = made.map(async ({ name, owned }) => {
    const { material } = await here.materials.getMaterial(owned);
    const lock = await lockMaterial(here.databaseUrl, owned.materialId);
    const outcome = await refusal(writer(name).write(here, owned)).finally(() => lock.close());
    expect((await here.materials.getMaterial(owned)).material).toEqual(material);
    return outcome;
  });
  expect(await Promise.all(outcomes)).toEqual(names.map(() => 'UNAVAILABLE'));
  for (const { name, owned } of made) {
    expect([name, await leftOf(owned)]).toEqual([name, [0, 0, 0]]);
    expect([name, await refusal(writer(name).write(here, owned))]).toEqual([name, 'no error']);
  }
});

/** Rows of a user in the tables that a write may add to. */
async function leftOf({ userId }: Owned): Promise<(number | null)[]> {
  const left: (number | null)[] = [];
  for (const table of ['reviews', 'snoozes', 'answered_requests']) {
    const { rowCount } = await here.sql.query(`SELECT FROM scheduling.${table} WHERE user_id = $1`, [userId]);
    left.push(rowCount);
  }
  return left;
}

describe('reviews of several learners in one statement', () => {
  test('are computed anew where a material was changed after it was read', async () => {
    const [changed, quiet] = await inTime(async () => {
      const learners = await Promise.all(
        [newUserId(), newUserId()].map(async (userId) => ({ userId, materialId: await here.create(userId) })),
      );
      const lock = await openLock(here.databaseUrl);
      try {
        // Lets read, and lets nobody lock or write.
        await lock.sql.query('LOCK TABLE scheduling.materials IN EXCLUSIVE MODE');
        const answers = Promise.all(
          learners.map((learner) => here.reviews.submitReview({ ...learner, quality: 5 })),
        );
        await lock.untilWaiting(1, answers);
        await lock.sql.query(
          `UPDATE scheduling.materials SET revision = 1, next_review_time = '2030-01-20T00:00:00Z' WHERE user_id = $1`,
          [learners[0]?.userId],
        );
        await lock.release();
        return await answers;
      } finally {
        await lock.close();
      }
    });
    expect(changed?.review).toMatchObject({ revision: 2, before: { nextReviewTime: SNOOZED_UNTIL } });
    expect(quiet?.review).toMatchObject({ revision: 1, before: { nextReviewTime: NOW } });
  });
});

type Numbered = Owned & { requestId?: string };
const reviewOf = (of: Numbered, quality: number) => ({ ...of, quality });
const snoozeOf = ({ materialId, ...of }: Numbered, number: number) => ({
  ...of,
  materialIds: [materialId],
  snoozeUntilTime: SNOOZED_UNTIL,
  reason: `${number}`,
});

/** Sends the writes 3, 4 and 5 of a material, each while the one before it is not done; the caller of 4 goes meanwhile. */
const whileOneGoes = (
  write: (of: Owned, number: number) => Promise<unknown>,
  writeOf: (caller: ReturnType<typeof openCaller>, of: Owned, number: number) => { cancel(): void },
) =>
  inTime(async () => {
    const userId = newUserId();
    const owned = { userId, materialId: await here.create(userId) };
    const lock = await lockMaterial(here.databaseUrl, owned.materialId);
    const caller = openCaller(here.port);
    try {
      const first = write(owned, 3);
      await lock.untilWaiting(1, first);
      const gone = writeOf(caller, owned, 4);
      await caller.untilHeard(owned);
      gone.cancel();
      await caller.untilHeard(owned);
      const last = write(owned, 5);
      await lock.release();
      await Promise.all([first, last]);
    } finally {
      caller.close();
      await lock.close();
    }
    return owned;
  });

describe('a caller who goes', () => {
  test.each(['', 'r'])('before it is their turn is not graded (request_id "%s")', async (requestId) => {
    const owned = await whileOneGoes(
      (of, quality) => here.reviews.submitReview(reviewOf(of, quality)),
      (caller, of, quality) => caller.submitReview(reviewOf({ ...of, requestId }, quality)),
    );
    const { reviews } = await here.reviews.listReviews(owned);
    expect(reviews.map(({ quality }) => quality).toSorted()).toEqual([3, 5]);
  });

  test('while the material is read is not graded', async () => {
    const owned = await inTime(async () => {
      const userId = newUserId();
      const owned = { userId, materialId: await here.create(userId) };
      const lock = await openLock(here.databaseUrl);
      try {
        // What a review reads, and does not write.
        await lock.sql.query('LOCK TABLE scheduling.learner_settings');
        const gone = refusal(here.reviews.submitReview(reviewOf(owned, 4), { deadlineMs: 200 }));
        await lock.untilWaiting(1, gone);
        expect(await gone).toBe('UNAVAILABLE');
        // On the same connection, so that the service has heard of it.
        await here.reviews.listReviews({ userId });
        await lock.release();
        await here.reviews.submitReview(reviewOf(owned, 5));
      } finally {
        await lock.close();
      }
      return owned;
    });
    const { reviews } = await here.reviews.listReviews(owned);
    expect(reviews.map(({ quality }) => quality)).toEqual([5]);
  });

  test.each(['', 'r'])('before it is their turn snoozes nothing (request_id "%s")', async (requestId) => {
    const owned = await whileOneGoes(
      (of, number) => here.snoozes.snoozeMaterials(snoozeOf(of, number)),
      (caller, of, number) => caller.snoozeMaterials(snoozeOf({ ...of, requestId }, number)),
    );
    const { snoozes } = await here.snoozes.listSnoozes(owned);
    expect(snoozes.map(({ reason }) => reason).toSorted()).toEqual(['3', '5']);
  });
});
const REVIEWED_ONCE = { ...GRADED, reviewId: 'of setup' };
/** What was done, or why not: 'no error', a reason, or how many materials a spread has moved. */
const TAKING_BACK: Record<
  string,
  (to: SchedulingClients, of: Owned & { reviewId: string }) => Promise<unknown>
> = {
  'an undo': ({ reviews }, { userId, reviewId }) => refusal(reviews.undoReview({ userId, reviewId })),
  'a spread': async ({ snoozes }, { userId }) => {
    const { snooze } = await snoozes.spreadBacklog({ userId, timeZone: 'UTC', days: 1 });
    return snooze?.materialCount ?? 0;
  },
  'a review': ({ reviews }, { userId, materialId }) =>
    refusal(reviews.submitReview({ userId, materialId, quality: 5 })),
  'a snooze': ({ snoozes }, { userId, materialId }) =>
    refusal(snoozes.snoozeMaterials({ userId, materialIds: [materialId], snoozeUntilTime: SNOOZED_UNTIL })),
};
const NEW = { repetitions: 0, nextReviewTime: NOW };
const TOMORROW = at('2030-01-02T00:00:00Z');

let here: Given<'scheduling'>['scheduling'];
let there: SchedulingClients;

function takeServices({ scheduling, otherScheduling }: Given<'scheduling' | 'otherScheduling'>): void {
  [here, there] = [scheduling, otherScheduling];
}

/** One connection to the service: what is answered on it later was heard later. */
function openCaller(port: number) {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  const proto = loadProto('scheduling.v1');
  const { SubmitReview, PreviewReview } = serviceDefinition<ReviewServiceDefinition>(
    proto,
    'scheduling.v1.ReviewService',
  );
  const { SnoozeMaterials } = serviceDefinition<SnoozeServiceDefinition>(
    proto,
    'scheduling.v1.SnoozeService',
  );
  type Done = Parameters<typeof client.makeUnaryRequest>[4];
  const call = <Q>(
    { path, requestSerialize }: { path: string; requestSerialize(q: Q): Buffer },
    request: Q,
    done: Done,
  ) => client.makeUnaryRequest(path, requestSerialize, (bytes) => bytes, request, done);
  return {
    submitReview: (request: SubmitReviewRequestInput) => call(SubmitReview, request, () => {}),
    snoozeMaterials: (request: SnoozeMaterialsRequestInput) => call(SnoozeMaterials, request, () => {}),
    /** Resolves once the service has heard all that was sent before. */
    untilHeard: (owned: Owned) =>
      new Promise<void>((resolve, reject) => {
        call(PreviewReview, owned, (error) => (error === null ? resolve() : reject(error)));
      }),
    close: () => client.close(),
  };
}

const timeOf = (left: { nextReviewTime?: object } = {}) =>
  left.nextReviewTime && { nextReviewTime: left.nextReviewTime };

const writer = (name: string) => new Map(Object.entries(WRITERS)).get(name) ?? expect.fail(name);

/** A new material, and both writes of it, the second sent to another process while the first waits. */
const writeBoth = (first: string, second: string) =>
  inTime(async () => {
    const userId = newUserId();
    const owned = { userId, materialId: await here.create(userId, 'Old') };
    await queueOn(here.databaseUrl, owned.materialId, [
      () => writer(first).write(here, owned),
      () => writer(second).write(there, owned),
    ]);
    return owned;
  });

type Owned = { userId: string; materialId: string };
