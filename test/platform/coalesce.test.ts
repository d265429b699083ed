import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { coalesce } from '../../services/platform/coalesce.ts';

const holderOf = () => 'one';

afterEach(() => {
  vi.useRealTimers();
});

/** What is to be sent at once has been sent. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
}
/** Time passes by the test's hand alone. */
const holdTime = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
async function pass(ms: number): Promise<void> {
  vi.advanceTimersByTime(ms);
  await settled();
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
    holdTime();
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
    await settled();
    const others: Promise<string>[] = [];
    for (const name of ['second', 'third']) {
      others.push(call(name));
      await pass(8);
    }
    expect(sent).toEqual([['first']]);
    ends[0]?.();
    await first;
    await settled();
    expect(sent).toEqual([['first'], ['second', 'third']]);
    ends[1]?.();
    expect(await Promise.all(others)).toEqual(['second', 'third']);
  });

  test('that are few gather for 5 ms while one is under way, many go at once', async () => {
    holdTime();
    const sent: number[] = [];
    const ends: (() => void)[] = [];
    const call = coalesce(
      async (names: readonly string[]) => {
        sent.push(names.length);
        await new Promise<void>((resolve) => ends.push(resolve));
        return names;
      },
      { max: 16, atOnce: 4, holderOf },
    );
    const asked = [call('first')];
    await settled();
    expect(sent).toEqual([1]);
    asked.push(...['1', '2', '3', '4', '5', '6', '7'].map(call));
    await settled();
    expect(sent).toEqual([1]);
    asked.push(call('8'));
    await settled();
    expect(sent).toEqual([1, 8]);
    await pass(3);
    asked.push(call('few'));
    await pass(1);
    expect(sent).toEqual([1, 8]);
    await pass(1);
    expect(sent).toEqual([1, 8, 1]);
    for (const end of ends) end();
    await Promise.all(asked);
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

  test('do not wait longer than 25 ms for one that is slow', async () => {
    holdTime();
    let endFirst: (() => void) | undefined;
    const call = coalesce(
      async (names: readonly string[]) => {
        if (names.includes('slow')) await new Promise<void>((resolve) => (endFirst = resolve));
        return names;
      },
      { max: 16, atOnce: 1, holderOf },
    );
    const slow = call('slow');
    await settled();
    const quick = call('quick');
    let answered = false;
    void quick.then(() => (answered = true));
    await pass(24);
    expect(answered).toBe(false);
    await pass(1);
    expect(await quick).toBe('quick');
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
