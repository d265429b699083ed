import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { coalesce } from '../../services/platform/coalesce.ts';
import { percentile } from '../support/statistics.ts';

const holderOf = () => 'one';

/** A timer may come before the immediate that sends: what has to be under way is waited for. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(1);
}

describe('calls of one moment', () => {
  test('go together, at most so many at a time, and each gets its own answer', async () => {
    const sizes: number[] = [];
    const double = coalesce(
      async (numbers: readonly number[]) => {
        sizes.push(numbers.length);
        return numbers.map((number) => 2 * number);
      },
      { max: 16, atOnce: 4, holderOf },
    );
    const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => double(index)));
    expect(answers).toEqual(Array.from({ length: 40 }, (_, index) => 2 * index));
    expect(sizes).toEqual([16, 16, 8]);
  });

  test('that come while enough are under way gather until one of those has ended', async () => {
    const sent: string[][] = [];
    const ends: (() => void)[] = [];
    const call = coalesce(
      async (names: readonly string[]) => {
        sent.push([...names]);
        await new Promise<void>((resolve) => ends.push(resolve));
        return names;
      },
      { max: 16, atOnce: 1, holderOf },
    );
    const first = call('first');
    await until(() => sent.length === 1);
    const others = ['second', 'third'].map(async (name) => {
      await sleep(1);
      return call(name);
    });
    await sleep(5);
    expect(sent).toEqual([['first']]);
    ends[0]?.();
    await first;
    await until(() => sent.length === 2);
    expect(sent).toEqual([['first'], ['second', 'third']]);
    ends[1]?.();
    expect(await Promise.all(others)).toEqual(['second', 'third']);
  });

  test('that are few gather for 5 ms while one is under way, many go at once', async () => {
    const [manyWaitedMs, fewWaitedMs]: [number[], number[]] = [[], []];
    // Several times: a timer counts from the beginning of its turn, which on a busy machine was long ago.
    for (let round = 0; round < 9; round += 1) {
      const sent: { names: readonly string[]; atMs: number }[] = [];
      const ends: (() => void)[] = [];
      const call = coalesce(
        async (names: readonly string[]) => {
          sent.push({ names, atMs: performance.now() });
          await new Promise<void>((resolve) => ends.push(resolve));
          return names;
        },
        { max: 16, atOnce: 4, holderOf },
      );
      const asked = [call('first')];
      await until(() => sent.length === 1);
      const askedMs = performance.now();
      asked.push(...['1', '2', '3', '4', '5', '6', '7', '8'].map(call));
      await until(() => sent.length === 2);
      asked.push(call('few'));
      await until(() => sent.length === 3);
      for (const end of ends) end();
      await Promise.all(asked);
      expect(sent.map(({ names }) => names.length)).toEqual([1, 8, 1]);
      manyWaitedMs.push((sent[1]?.atMs ?? 0) - askedMs);
      fewWaitedMs.push((sent[2]?.atMs ?? 0) - (sent[1]?.atMs ?? 0));
    }
    expect(percentile(manyWaitedMs, 0.5)).toBeLessThan(3);
    expect(percentile(fewWaitedMs, 0.5)).toBeGreaterThan(3);
    expect(percentile(fewWaitedMs, 0.5)).toBeLessThan(25);
  });

  test('go in turns of their holders: who asks for much waits behind nobody else', async () => {
    const sent: string[][] = [];
    const call = coalesce(
      async (names: readonly string[]) => {
        sent.push([...names]);
        return names;
      },
      { max: 4, atOnce: 1, holderOf: (name) => name.charAt(0) },
    );
    await Promise.all(['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'a6', 'c1', 'b2'].map(call));
    expect(sent).toEqual([['a1', 'b1', 'c1', 'a2'], ['a3', 'b2', 'a4', 'a5'], ['a6']]);
  });

  test('do not wait for one that is slow', async () => {
    let endFirst: (() => void) | undefined;
    const call = coalesce(
      async (names: readonly string[]) => {
        if (names.includes('slow')) await new Promise<void>((resolve) => (endFirst = resolve));
        return names;
      },
      { max: 16, atOnce: 1, holderOf },
    );
    const slow = call('slow');
    await until(() => endFirst !== undefined);
    expect(await call('quick')).toBe('quick');
    endFirst?.();
    expect(await slow).toBe('slow');
  });

  test('fail one by one where one answer is an error, and all where none is answered or too few', async () => {
    const call = coalesce(
      async (names: readonly string[]) => {
        if (names.includes('broken')) throw new Error('all of them');
        if (names.includes('short')) return [];
        return names.map((name) => (name === 'wrong' ? new Error('this one') : name));
      },
      { max: 16, atOnce: 1, holderOf },
    );
    const outcomes = async (...names: string[]) =>
      (await Promise.allSettled(names.map(call))).map((outcome) =>
        outcome.status === 'fulfilled' ? outcome.value : String(outcome.reason.message),
      );
    expect(await outcomes('a', 'wrong', 'b')).toEqual(['a', 'this one', 'b']);
    expect(await outcomes('a', 'broken')).toEqual(['all of them', 'all of them']);
    expect(await outcomes('a', 'short')).toEqual(['2 calls got 0 answers', '2 calls got 0 answers']);
    expect(await outcomes('c')).toEqual(['c']);
  });

  test('whenever they come and however long they take: each is sent once and gets its own answer', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ afterMs: fc.nat(8), takesMs: fc.nat(4) }), { minLength: 1, maxLength: 40 }),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 3 }),
        async (plan, max, atOnce) => {
          const sent: number[] = [];
          const call = coalesce(
            async (indexes: readonly number[]) => {
              expect(indexes.length).toBeLessThanOrEqual(max);
              sent.push(...indexes);
              await sleep(Math.max(...indexes.map((index) => plan[index]?.takesMs ?? 0)));
              return indexes.map((index) => -index);
            },
            { max, atOnce, holderOf },
          );
          const answers = await Promise.all(
            plan.map(async ({ afterMs }, index) => {
              await sleep(afterMs);
              return call(index);
            }),
          );
          expect(answers).toEqual(plan.map((_, index) => -index));
          expect(sent.toSorted((a, b) => a - b)).toEqual(plan.map((_, index) => index));
        },
      ),
      { numRuns: 60 },
    ));
});
