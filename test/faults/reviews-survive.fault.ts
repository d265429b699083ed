// Promise: what was acknowledged is kept, and what is repeated under one key is done once, whatever is killed meanwhile.
// ROUNDS rounds of 500 concurrent reviews each, 20 by default.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { describe, expect, test } from 'vitest';
import { closeClients, createClients } from '../../gateway/clients.ts';
import type { ReviewServiceDefinition } from '../../generated/scheduling/v1/ReviewService.ts';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../services/embedded-postgres/embedded-postgres.ts';
import type { GrpcClient } from '../../services/platform/grpc/client.ts';
import { createClient } from '../../services/rest/client/client.ts';
import { createTestDatabase } from '../support/database.ts';
import { newUserId } from '../support/scheduling.ts';
import { startService } from '../support/services.ts';
import { startSystem } from '../support/system.ts';
import { ROUNDS } from './support/rounds.ts';
import { verify } from './support/verify.ts';

const REVIEWS = 500;

describe('kill -9 of scheduling', () => {
  test(`during ${REVIEWS} concurrent reviews over REST, ${ROUNDS} rounds: each is applied exactly once`, async () => {
    const database = await createTestDatabase();
    const scheduling = await startService('scheduling', { DATABASE_URL: database.databaseUrl });
    const system = await startSystem({
      scheduling: { target: scheduling.target, databaseUrl: database.databaseUrl },
    });
    const [origin] = system.origins;
    let unanswered = 0;
    try {
      for (let round = 0; round < ROUNDS; round += 1) {
        const { key } = await system.createUser();
        const client = createClient({
          baseUrl: `${origin}/v1`,
          apiKey: key,
          maxRetries: Number.MAX_SAFE_INTEGER,
          async fetch(...request) {
            const response = await fetch(...request);
            if (response.status >= 500) unanswered += 1;
            return response;
          },
        });
        const ids: string[] = [];
        for (let index = 0; index < MATERIALS; index += 1)
          ids.push((await client.createMaterial({ title: 'T' })).material.id);
        const reviews = concurrently(REVIEWS, async (index) => {
          await client.submitReview(ids[index % MATERIALS] ?? '', { quality: index % 6 });
        });
        await sleep(50 + ((round * 37) % 250));
        await scheduling.kill();
        await scheduling.restart();
        await reviews;
        const total = (round + 1) * REVIEWS;
        expect((await storedReviewIds(database.databaseUrl)).size).toBe(total);
      }
      expect(unanswered).toBeGreaterThan(0);
      const [materials, reviews] = [ROUNDS * MATERIALS, ROUNDS * REVIEWS].map(thousands);
      expect(await verify(database.databaseUrl)).toBe(
        `${materials} materials, ${reviews} reviews, 0 snoozes: 0 drifted\n`,
      );
      process.stdout.write(`${thousands(unanswered)} requests were not answered and were repeated.\n`);
    } finally {
      await system.stop();
      await scheduling.kill();
      await database.drop();
    }
  });
});

/** Each with so many materials that are due and others whose reviews are undone. */
const LEARNERS = 8;

const UNDONE = 20;

describe('kill -9 of scheduling', () => {
  test(`during ${LEARNERS} spreads and ${LEARNERS * UNDONE} undos at once, ${ROUNDS} rounds: each is done whole and once, or not at all`, async () => {
    const database = await createTestDatabase();
    const scheduling = await startService('scheduling', { DATABASE_URL: database.databaseUrl });
    const { target } = scheduling;
    const clients = createClients({ schedulingTarget: target, accountsTarget: target, trust });
    let unanswered = 0;
    const tell = () => {
      unanswered += 1;
    };
    const inUndo: number[] = [];
    const inSpread: number[] = [];
    try {
      for (let round = 0; round < ROUNDS; round += 1) {
        const learners = [];
        for (let made = 0; made < LEARNERS; made += 1) learners.push(await prepare(clients));
        let done = 0;
        const spreads = learners.map(async ({ userId }) => {
          const spread = { userId, timeZone: 'UTC', days: 5, requestId: 'spread' };
          const { snooze } = await untilAnswered(() => clients.snoozes.spreadBacklog(spread, CALL), tell);
          done += 1;
          return snooze?.materialCount ?? 0;
        });
        const undos = learners.map(({ userId, reviewIds }) =>
          concurrently(UNDONE, async (index) => {
            const undo = { userId, reviewId: reviewIds[index] ?? '' };
            const { review } = await untilAnswered(() => clients.reviews.undoReview(undo, CALL), tell);
            expect(review?.undoTime).not.toBeNull();
            done += 1;
          }),
        );
        while (done < 1 + ((round * 37) % (LEARNERS * UNDONE))) await sleep(1);
        await scheduling.kill();
        const { undone, moved } = await storedOf(database.databaseUrl, learners);
        inUndo.push(undone);
        inSpread.push(moved);
        await scheduling.restart();
        await Promise.all(undos);
        const answered = await Promise.all(spreads);
        const stored = await storedOf(database.databaseUrl, learners);
        expect([stored.undone, stored.spreads]).toEqual([LEARNERS * UNDONE, LEARNERS]);
        expect(stored.moved).toBe(answered.reduce((sum, moved) => sum + moved, 0));
        expect(stored.moved).toBeGreaterThanOrEqual(LEARNERS * DUE);
      }
      expect(unanswered).toBeGreaterThan(0);
      expect(await verify(database.databaseUrl)).toMatch(/: 0 drifted\n$/);
      process.stdout.write(
        `${thousands(unanswered)} requests were not answered and were repeated. Done when it died: undos ${inUndo.join()}, materials spread ${inSpread.join()}.\n`,
      );
    } finally {
      closeClients(clients);
      await scheduling.kill();
      await database.drop();
    }
  });
});

describe('kill -9 of PostgreSQL, with fsync on', () => {
  test(`during ${REVIEWS} concurrent reviews, ${ROUNDS} rounds: what was acknowledged is there, each exactly once`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'srs-fault-'));
    chmodSync(folder, 0o755);
    const startPostgres = (): Promise<EmbeddedPostgres> =>
      startEmbeddedPostgres({ directory: join(folder, 'postgres') });
    let postgres = await startPostgres();
    const scheduling = await startService('scheduling', { DATABASE_URL: postgres.databaseUrl });
    const clients = createClients({
      schedulingTarget: scheduling.target,
      accountsTarget: scheduling.target,
      trust,
    });
    const acknowledged = new Set<string>();
    try {
      for (let round = 0; round < ROUNDS; round += 1) {
        const userId = newUserId();
        const ids: string[] = [];
        for (let index = 0; index < MATERIALS; index += 1) {
          const { material } = await untilAnswered(() =>
            clients.materials.createMaterial({ userId, title: 'T', requestId: `m${index}` }, CALL),
          );
          ids.push(material?.materialId ?? '');
        }
        const submit = (index: number): ReturnType<GrpcClient<ReviewServiceDefinition>['submitReview']> =>
          clients.reviews.submitReview(
            { userId, materialId: ids[index % MATERIALS] ?? '', quality: index % 6, requestId: `r${index}` },
            CALL,
          );
        const reviews = concurrently(REVIEWS, async (index) => {
          const { review } = await untilAnswered(() => submit(index));
          acknowledged.add(review?.reviewId ?? '');
        });
        await sleep(50 + ((round * 37) % 250));
        process.kill(postgres.pid, 'SIGKILL');
        await postgres.exited;
        postgres = await startPostgres();
        // It listens on another port now.
        await scheduling.kill();
        await scheduling.restart({ DATABASE_URL: postgres.databaseUrl });
        await reviews;
      }
      expect(acknowledged.size).toBe(ROUNDS * REVIEWS);
      expect(await storedReviewIds(postgres.databaseUrl)).toEqual(acknowledged);
      const [materials, reviews] = [ROUNDS * MATERIALS, ROUNDS * REVIEWS].map(thousands);
      expect(await verify(postgres.databaseUrl)).toBe(
        `${materials} materials, ${reviews} reviews, 0 snoozes: 0 drifted\n`,
      );
    } finally {
      closeClients(clients);
      await scheduling.kill();
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

const MATERIALS = 20;
const CLIENTS = 50;

const DUE = 40;

const trust = { serviceTokens: [], tls: undefined };
const CALL = { requestId: 'fault' };

/** A learner with materials that are due, and others that are reviewed. */
async function prepare({ materials, reviews }: ReturnType<typeof createClients>) {
  const userId = newUserId();
  const reviewIds: string[] = [];
  await concurrently(DUE + UNDONE, async (index) => {
    const create = { userId, title: 'T', requestId: `m${index}` };
    const { material } = await untilAnswered(() => materials.createMaterial(create, CALL));
    if (index >= UNDONE) return;
    const of = { userId, materialId: material?.materialId ?? '', quality: 4, requestId: `r${index}` };
    reviewIds.push((await untilAnswered(() => reviews.submitReview(of, CALL))).review?.reviewId ?? '');
  });
  return { userId, reviewIds };
}

/**
 * How many reviews of the learners are undone, how many spreads there are, and how many materials they hold. Whatever of it is
 * stored is whole: a material is undone or spread where a review or a spread says so, and has one revision for each.
 */
async function storedOf(databaseUrl: string, learners: readonly { userId: string }[]) {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ undone: number; spreads: number; moved: number; halves: number }>(
      `SELECT
         (SELECT count(*)::int FROM scheduling.undone_reviews u WHERE u.user_id = ANY($1)) AS undone,
         (SELECT count(*)::int FROM scheduling.snoozes s WHERE s.user_id = ANY($1)) AS spreads,
         (SELECT count(*)::int FROM scheduling.snoozed_materials s WHERE s.user_id = ANY($1)) AS moved,
         (SELECT count(*)::int FROM scheduling.materials m WHERE m.user_id = ANY($1) AND m.revision <>
            (SELECT count(*) FROM scheduling.reviews r WHERE r.user_id = m.user_id AND r.material_id = m.material_id)
            + (SELECT count(*) FROM scheduling.undone_reviews u
               WHERE u.user_id = m.user_id AND u.material_id = m.material_id)
            + (SELECT count(*) FROM scheduling.snoozed_materials s
               WHERE s.user_id = m.user_id AND s.material_id = m.material_id)) AS halves`,
      [learners.map(({ userId }) => userId)],
    );
    const [stored] = rows;
    if (stored === undefined) throw new Error('a query for one row returned none');
    expect(stored.halves).toBe(0);
    return stored;
  } finally {
    await client.end();
  }
}

/** Calls until it is answered. `tell`: once for each call that is not. */
async function untilAnswered<T>(call: () => Promise<T>, tell = () => {}): Promise<T> {
  for (;;) {
    const answer = await call().catch(tell);
    if (answer !== undefined) return answer as T;
    await sleep(20);
  }
}

/** Runs `work` for 0 to `count - 1`, CLIENTS at a time. */
async function concurrently(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < count; index = next++) await work(index);
  };
  await Promise.all(Array.from({ length: CLIENTS }, worker));
}

async function storedReviewIds(databaseUrl: string): Promise<Set<string>> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ id: string }>('SELECT review_id AS id FROM scheduling.reviews');
    return new Set(rows.map(({ id }) => id));
  } finally {
    await client.end();
  }
}

const thousands = (count: number) => count.toLocaleString('en');
