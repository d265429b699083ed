// Items of one moment share a statement, each with an outcome of its own, and no row crosses from one user to another.
import fc from 'fast-check';
import { describe, expect, onTestFinished, vi } from 'vitest';
import { ServiceError } from '../../services/platform/errors.ts';
import type { Queryable } from '../../services/platform/postgres/database.ts';
import { StatementTimeout } from '../../services/platform/postgres/faults.ts';
import { gatheredOn } from '../../services/scheduling/gathered.ts';
import {
  listDueMaterials,
  listNewestMaterials,
  type PageRequest,
  SHARED_BYTES,
} from '../../services/scheduling/materials/sql.ts';
import { findMaterials } from '../../services/scheduling/rows.ts';
import { type Given, test } from '../fixtures.ts';
import { newUserId } from '../support/scheduling.ts';

describe('items', () => {
  test('of one turn of the event loop share a statement, and each gets its own result', async () => {
    const { statements, run } = listen(doubled);
    expect(await Promise.all([1, 2, 3].map((value) => run(item(value))))).toEqual([2, 4, 6]);
    expect(await run(item(4))).toBe(8);
    expect(statements).toEqual([[1, 2, 3], [4]]);
  });

  test('are tried alone where their statement fails, and one fails for itself', async () => {
    const { statements, run } = listen(async (items) => {
      if (items.some(({ value }) => value === 2)) throw new Error('of 2');
      return doubled(items);
    });
    const outcomes = await Promise.allSettled([1, 2, 3].map((value) => run(item(value))));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(statements).toEqual([[1, 2, 3], [1], [2], [3]]);
  });

  test('are not tried again where the database is unavailable', async () => {
    const lost = Object.assign(new Error('lost'), { code: '08006' });
    for (const cause of [undefined, lost, new StatementTimeout()]) {
      const { statements, run } = listen(() => Promise.reject(new ServiceError('UNAVAILABLE', { cause })));
      const outcomes = await Promise.allSettled([1, 2].map((value) => run(item(value))));
      const refused = { status: 'rejected', reason: { reason: 'UNAVAILABLE' } };
      expect(outcomes).toMatchObject([refused, refused]);
      expect(statements).toEqual([[1, 2]]);
    }
  });

  test.each(['57014', '40P01'])(
    'are tried alone where the server has ended their statement by %s',
    async (code) => {
      const cause = Object.assign(new Error('ended'), { code });
      const { statements, run } = listen(async (items) => {
        if (items.some(({ value }) => value === 2)) throw new ServiceError('UNAVAILABLE', { cause });
        return doubled(items);
      });
      const outcomes = await Promise.allSettled([1, 2, 3].map((value) => run(item(value))));
      expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect(statements).toEqual([[1, 2, 3], [1], [2], [3]]);
    },
  );

  test('go alone and at once on a database that is distributed', async () => {
    const { statements, run } = listen(doubled, true);
    const asked = [run(item(1)), run(item(2))];
    expect(statements).toEqual([[1], [2]]);
    expect(await Promise.all(asked)).toEqual([2, 4]);
  });

  test('of one user beyond a statement let the first of others go before', async () => {
    const { statements, run } = listen(doubled);
    const busy = Array.from({ length: 20 }, (_, index) => run(item(index, 'busy')));
    await Promise.all([...busy, run(item(99, 'other'))]);
    expect(statements.map((values) => values.length)).toEqual([16, 5]);
    expect(statements[0]?.slice(0, 3)).toEqual([0, 99, 1]);
  });

  test('gather while three statements run, but do not wait for a slow one', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const ends: (() => void)[] = [];
    const { statements, run } = listen(async (items) => {
      await new Promise<void>((resolve) => ends.push(resolve));
      return doubled(items);
    });
    const asked: Promise<number>[] = [];
    for (const value of [1, 2, 3, 4, 5]) {
      asked.push(run(item(value)));
      await turns();
    }
    expect(statements).toEqual([[1], [2], [3]]);
    ends[0]?.();
    await turns();
    expect(statements.slice(3)).toEqual([[4, 5]]);
    asked.push(run(item(6)));
    await turns();
    expect(statements.slice(4)).toEqual([]);
    await vi.advanceTimersByTimeAsync(1000);
    await turns();
    expect(statements.slice(4)).toEqual([[6]]);
    for (const end of ends) end();
    expect(await Promise.all(asked)).toEqual([2, 4, 6, 8, 10, 12]);
  });
});

describe('statements of several users', () => {
  let db: Queryable;
  const users: { userId: string; materialIds: string[] }[] = [];
  test.beforeAll(async ({ scheduling: here }: Given<'scheduling'>) => {
    db = { query: async ({ text, values }) => (await here.sql.query(text, [...values])).rows };
    for (const count of [0, 1, 4, 7, 3]) {
      const userId = newUserId();
      const materialIds: string[] = [];
      for (let index = 0; index < count; index += 1) {
        // Two of these texts fill what a shared statement reads of a page.
        const content = 'é'.repeat(index % 3 === 1 ? SHARED_BYTES / 4 : 10);
        const request = { userId, title: `${count} of ${index}`, content };
        materialIds.push((await here.materials.createMaterial(request)).material?.materialId ?? '');
      }
      for (const materialId of materialIds.slice(4))
        await here.reviews.submitReview({ userId, materialId, quality: 4 });
      users.push({ userId, materialIds });
    }
  });

  const drawn = fc.record({
    user: fc.nat(4),
    other: fc.nat(4),
    place: fc.nat(6),
    maxRows: fc.integer({ min: 1, max: 8 }),
    maxBytes: fc.constantFrom(-1, 0, 20, SHARED_BYTES),
    isLater: fc.boolean(),
  });

  test('return to each what it gets alone: no row crosses', async () => {
    const asOf = new Date();
    const alone = async <Q, R>(run: (items: readonly Q[]) => Promise<R[]>, items: readonly Q[]) => {
      const results: R[] = [];
      for (const each of items) results.push(...(await run([each])));
      return results;
    };
    const withNumber = (rows: readonly object[]) => rows.map((row) => ({ ...row, number: undefined }));
    await fc.assert(
      fc.asyncProperty(fc.array(drawn, { minLength: 2, maxLength: 16 }), async (draws) => {
        const pages = draws.map(({ user, maxRows, maxBytes, isLater, place }) => {
          const { userId = '', materialIds = [] } = users[user] ?? {};
          return { userId, maxRows, maxBytes, from: isLater ? materialIds[place] : undefined };
        });
        const newest = pages.map(({ from, ...page }) => ({
          ...page,
          after: from === undefined ? undefined : { value: asOf, materialId: from },
        }));
        const due = pages.map(({ from, ...page }) => ({
          ...page,
          asOf,
          after: from === undefined ? undefined : { value: null, materialId: from },
        }));
        // Of a material that is another's, too.
        const finds = draws.map(({ user, other, place }) => ({
          userId: users[user]?.userId ?? '',
          materialId: users[other]?.materialIds[place] ?? newUserId(),
        }));
        const listNewest = (items: readonly PageRequest[]) => listNewestMaterials(db, items);
        const listDue = (items: readonly (PageRequest & { asOf: Date })[]) => listDueMaterials(db, items);
        const found = await listNewest(newest);
        expect(found.map(withNumber)).toEqual((await alone(listNewest, newest)).map(withNumber));
        expect((await listDue(due)).map(withNumber)).toEqual((await alone(listDue, due)).map(withNumber));
        const materials = await findMaterials(db, finds);
        for (const [index, material] of materials.entries()) {
          const { userId, materialId } = finds[index] ?? {};
          const isOwn = users.some(
            (user) => user.userId === userId && user.materialIds.includes(materialId ?? ''),
          );
          expect(material?.materialId).toBe(isOwn ? materialId : undefined);
        }
        for (const [index, rows] of found.entries()) {
          const own = users[draws[index]?.user ?? 0]?.materialIds ?? [];
          for (const { materialId } of rows) expect(own).toContain(materialId);
        }
      }),
      { numRuns: 25 },
    );
  });
});

const NO_DATABASE: Queryable = { query: () => Promise.reject(new Error('no statement is expected')) };

const item = (value: number, userId = `user ${value}`): Item => ({ userId, value });

/** A function whose statements end as `end` says, and the values of each statement. */
function listen(end: (items: readonly Item[]) => Promise<readonly number[]>, isDistributed = false) {
  const statements: number[][] = [];
  const run = gatheredOn(NO_DATABASE, { isDistributed })((_db, items: readonly Item[]) => {
    statements.push(items.map(({ value }) => value));
    return end(items);
  });
  return { statements, run };
}

const doubled = async (items: readonly Item[]) => items.map(({ value }) => value * 2);

/** An end is noticed in one turn, and what waited for it is sent in the next. */
const turns = async () => {
  for (let count = 0; count < 2; count += 1) await new Promise((resolve) => setImmediate(resolve));
};

type Item = { userId: string; value: number };
