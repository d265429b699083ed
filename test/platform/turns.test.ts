// A bound on how much runs at once.
import { describe, expect, test } from 'vitest';
import { atMost } from '../../services/platform/concurrency.ts';

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
