// Who waits for whom: a bound on how much runs at once, and one at a time for each key.
import { describe, expect, test } from 'vitest';
import { atMost, atMostPerKey } from '../../services/platform/concurrency.ts';

describe('a bound of two', () => {
  test('lets two run, and the others begin one by one in their order, whether those before them fail or not', async () => {
    const { begun, work, settle, end, fail } = heldWork();
    const run = atMost(2);
    const answers = Promise.allSettled(['a', 'b', 'c', 'd', 'e'].map((name) => run(work(name))));
    await settle();
    expect(begun).toEqual(['a', 'b']);
    await end('b');
    expect(begun).toEqual(['a', 'b', 'c']);
    await fail('a');
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
    for (const name of ['c', 'd', 'e']) await end(name);
    expect(begun).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(await answers).toEqual([
      { status: 'rejected', reason: new Error('a failed') },
      ...['b', 'c', 'd', 'e'].map((name) => ({ status: 'fulfilled', value: `${name} done` })),
    ]);
  });

  test('is two again after all have ended', async () => {
    const { begun, work, settle, end } = heldWork();
    const run = atMost(2);
    const first = ['a', 'b', 'c'].map((name) => run(work(name)));
    for (const name of ['a', 'b', 'c']) await end(name);
    await Promise.all(first);
    const second = ['d', 'e', 'f'].map((name) => run(work(name)));
    await settle();
    expect(begun).toEqual(['a', 'b', 'c', 'd', 'e']);
    for (const name of ['d', 'e', 'f']) await end(name);
    await Promise.all(second);
  });
});

describe('one at a time for each key', () => {
  test('work of a key waits for all of it that came before, and for nothing of other keys', async () => {
    const { begun, work, settle, end } = heldWork();
    const exclusively = atMostPerKey<string>(1);
    const answers = [
      exclusively('k', work('k1')),
      exclusively('k', work('k2')),
      exclusively('k', work('k3')),
      exclusively('other', work('o1')),
    ];
    await settle();
    expect(begun).toEqual(['k1', 'o1']);
    await end('k1');
    expect(begun).toEqual(['k1', 'o1', 'k2']);
    // What comes now waits for the third.
    answers.push(exclusively('k', work('k4')));
    await end('k2');
    expect(begun).toEqual(['k1', 'o1', 'k2', 'k3']);
    await end('k3');
    expect(begun).toEqual(['k1', 'o1', 'k2', 'k3', 'k4']);
    await end('k4');
    await end('o1');
    expect(await Promise.all(answers)).toEqual(['k1 done', 'k2 done', 'k3 done', 'o1 done', 'k4 done']);
  });

  test('work that fails fails alone, and the next has its turn', async () => {
    const { begun, work, end, fail } = heldWork();
    const exclusively = atMostPerKey<string>(1);
    const answers = Promise.allSettled(['a', 'b'].map((name) => exclusively('k', work(name))));
    await fail('a');
    await end('b');
    expect(begun).toEqual(['a', 'b']);
    expect((await answers).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });

  test('a key whose work has ended begins at once', async () => {
    const { begun, work, end } = heldWork();
    const exclusively = atMostPerKey<string>(1);
    const first = exclusively('k', work('a'));
    await end('a');
    await first;
    const second = exclusively('k', work('b'));
    expect(begun).toEqual(['a', 'b']);
    await end('b');
    expect(await second).toBe('b done');
  });
});

/** Work by name that has begun, each to be ended or failed by the test. */
function heldWork() {
  const begun: string[] = [];
  const gates = new Map<string, PromiseWithResolvers<string>>();
  const gateOf = (name: string) => {
    const gate = gates.get(name) ?? Promise.withResolvers<string>();
    gates.set(name, gate);
    return gate;
  };
  const work = (name: string) => () => {
    begun.push(name);
    return gateOf(name).promise;
  };
  const settle = () => new Promise(setImmediate);
  return {
    begun,
    work,
    settle,
    async end(name: string) {
      gateOf(name).resolve(`${name} done`);
      await settle();
    },
    async fail(name: string) {
      gateOf(name).reject(new Error(`${name} failed`));
      await settle();
    },
  };
}
