import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createBatcher } from '../../services/platform/concurrency/batcher.ts';

const fairnessKeyOf = () => 'one';

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

/** A batcher whose batches are answered by the test's hand. */
function heldBatches(options: {
  maxSize: number;
  maxInFlight: number;
  maxPerKey?: number;
  fairnessKeyOf?: (name: string) => string;
}) {
  const sent: string[][] = [];
  const ends: (() => void)[] = [];
  const request = createBatcher(
    (names: readonly string[]) => {
      sent.push([...names]);
      const end = new Promise<void>((resolve) => ends.push(resolve));
      return names.map(async (name) => {
        await end;
        return name;
      });
    },
    { fairnessKeyOf, ...options },
  );
  return { sent, ends, request };
}

describe('requests of one moment', () => {
  test('go together, at most so many in a batch, and each gets its own answer', async () => {
    const sizes: number[] = [];
    const double = createBatcher(
      (numbers: readonly number[]) => {
        sizes.push(numbers.length);
        return numbers.map(async (number) => 2 * number);
      },
      { maxSize: 16, maxInFlight: 4, fairnessKeyOf },
    );
    const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => double(index)));
    expect(answers).toEqual(Array.from({ length: 40 }, (_, index) => 2 * index));
    expect(sizes).toEqual([16, 16, 8]);
  });

  test('go at once while fewer batches are under way than may be, and gather while enough are', async () => {
    holdTime();
    const { sent, ends, request } = heldBatches({ maxSize: 16, maxInFlight: 2 });
    const answers = [request('first')];
    await settled();
    answers.push(request('second'));
    await settled();
    expect(sent).toEqual([['first'], ['second']]);
    for (const name of ['third', 'fourth']) {
      answers.push(request(name));
      await pass(8);
    }
    expect(sent).toEqual([['first'], ['second']]);
    ends[0]?.();
    await settled();
    expect(sent).toEqual([['first'], ['second'], ['third', 'fourth']]);
    for (const end of ends) end();
    expect(await Promise.all(answers)).toEqual(['first', 'second', 'third', 'fourth']);
  });

  test('get their answers one by one, as each is there', async () => {
    const slow = Promise.withResolvers<string>();
    const request = createBatcher(
      (names: readonly string[]) => names.map(async (name) => (name === 'slow' ? slow.promise : name)),
      { maxSize: 16, maxInFlight: 1, fairnessKeyOf },
    );
    const slowAnswer = request('slow');
    expect(await request('quick')).toBe('quick');
    slow.resolve('at last');
    expect(await slowAnswer).toBe('at last');
  });

  test('are each sent alone, at once, where a batch may hold one', async () => {
    const { sent, ends, request } = heldBatches({ maxSize: 1, maxInFlight: 1 });
    const answers = ['a', 'b', 'c'].map(request);
    expect(sent).toEqual([['a'], ['b'], ['c']]);
    for (const end of ends) end();
    expect(await Promise.all(answers)).toEqual(['a', 'b', 'c']);
  });

  test('alternate between fairness keys, so that a key with many requests delays no other', async () => {
    const sent: string[][] = [];
    const request = createBatcher(
      (names: readonly string[]) => {
        sent.push([...names]);
        return names.map(async (name) => name);
      },
      { maxSize: 5, maxInFlight: 1, fairnessKeyOf: (name) => name.charAt(0) },
    );
    await Promise.all(['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'a6', 'c1', 'b2'].map(request));
    expect(sent).toEqual([
      ['a1', 'b1', 'c1', 'a2', 'b2'],
      ['a3', 'a4', 'a5', 'a6'],
    ]);
  });

  test('of a key with as many under way as it may have wait for those, and other keys do not', async () => {
    const { sent, ends, request } = heldBatches({
      maxSize: 3,
      maxInFlight: 4,
      maxPerKey: 2,
      fairnessKeyOf: (name) => name.charAt(0),
    });
    const answers = ['a1', 'a2', 'a3', 'a4', 'b1'].map(request);
    await settled();
    expect(sent).toEqual([['a1', 'b1', 'a2']]);
    answers.push(request('b2'), request('c1'));
    await settled();
    expect(sent.slice(1)).toEqual([['b2', 'c1']]);
    ends[1]?.();
    await settled();
    expect(sent).toHaveLength(2);
    ends[0]?.();
    await settled();
    expect(sent.slice(2)).toEqual([['a3', 'a4']]);
    ends[2]?.();
    expect(await Promise.all(answers)).toEqual(['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1']);
  });

  test('that fail make room for others of their key', async () => {
    const request = createBatcher(
      (names: readonly string[]) => names.map((name) => Promise.reject(new Error(name))),
      { maxSize: 3, maxInFlight: 4, maxPerKey: 1, fairnessKeyOf },
    );
    const answers = await Promise.allSettled(['first', 'second', 'third'].map(request));
    expect(answers.map((answer) => answer.status === 'rejected' && answer.reason.message)).toEqual([
      'first',
      'second',
      'third',
    ]);
  });

  test('do not wait longer than 25 ms for a batch that is slow', async () => {
    holdTime();
    const { sent, ends, request } = heldBatches({ maxSize: 16, maxInFlight: 1 });
    const answers = [request('slow')];
    await settled();
    answers.push(request('quick'));
    await pass(24);
    expect(sent).toEqual([['slow']]);
    await pass(1);
    expect(sent).toEqual([['slow'], ['quick']]);
    for (const end of ends) end();
    await Promise.all(answers);
  });

  test('find no more room than there is when a slow batch ends that had made room already', async () => {
    holdTime();
    const { sent, ends, request } = heldBatches({ maxSize: 16, maxInFlight: 1 });
    const answers = [request('slow')];
    await settled();
    answers.push(request('second'));
    await pass(25);
    ends[0]?.();
    await settled();
    answers.push(request('third'));
    await settled();
    expect(sent).toEqual([['slow'], ['second']]);
    ends[1]?.();
    await settled();
    expect(sent).toEqual([['slow'], ['second'], ['third']]);
    ends[2]?.();
    expect(await Promise.all(answers)).toEqual(['slow', 'second', 'third']);
  });

  test('fail one by one where one answer is an error, and all where none is answered', async () => {
    const request = createBatcher(
      (names: readonly string[]) => {
        if (names.includes('broken')) throw new Error('all of them');
        const answered = names.includes('short') ? names.slice(0, 1) : names;
        return answered.map(async (name) => {
          if (name === 'wrong') throw new Error('this one');
          return name;
        });
      },
      { maxSize: 16, maxInFlight: 1, fairnessKeyOf },
    );
    const outcomes = async (...names: string[]) =>
      (await Promise.allSettled(names.map(request))).map((outcome) =>
        outcome.status === 'fulfilled' ? outcome.value : String(outcome.reason.message),
      );
    expect(await outcomes('a', 'wrong', 'b')).toEqual(['a', 'this one', 'b']);
    expect(await outcomes('a', 'broken')).toEqual(['all of them', 'all of them']);
    expect(await outcomes('a', 'short')).toEqual(['a', 'a batch has fewer answers than requests']);
    expect(await outcomes('c')).toEqual(['c']);
  });

  test('whenever they come and however long they take: each is sent once and gets its own answer', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ afterMs: fc.nat(8), takesMs: fc.nat(4) }), { minLength: 1, maxLength: 40 }),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 3 }),
        async (plan, maxSize, maxInFlight) => {
          const sent: number[] = [];
          const request = createBatcher(
            (indexes: readonly number[]) => {
              expect(indexes.length).toBeLessThanOrEqual(maxSize);
              sent.push(...indexes);
              return indexes.map(async (index) => {
                await sleep(plan[index]?.takesMs ?? 0);
                return -index;
              });
            },
            { maxSize, maxInFlight, fairnessKeyOf },
          );
          const answers = await Promise.all(
            plan.map(async ({ afterMs }, index) => {
              await sleep(afterMs);
              return request(index);
            }),
          );
          expect(answers).toEqual(plan.map((_, index) => -index));
          expect(sent.toSorted((a, b) => a - b)).toEqual(plan.map((_, index) => index));
        },
      ),
      { numRuns: 60 },
    ));
});
