import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createFairQueue } from '../../services/platform/concurrency.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

test('work of one key runs one at a time, of others beside it, and in the order in which it came', async () => {
  const { run, end, begun } = startLane(2);
  const all = ['a1', 'a2', 'a3', 'b1', 'c1', 'c2'].map((name) => run(name));
  expect(begun).toEqual(['a1', 'b1']);
  await end('b1');
  expect(begun).toEqual(['a1', 'b1', 'c1']);
  await end('a1');
  expect(begun).toEqual(['a1', 'b1', 'c1', 'a2']);
  await end('a2');
  await end('c1');
  expect(begun).toEqual(['a1', 'b1', 'c1', 'a2', 'a3', 'c2']);
  await end('a3');
  await end('c2');
  expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'b1', 'c1', 'c2']);
});

test('after work of 100 ms, its key waits for 100 ms, and nobody else', async () => {
  const { run, end, begun } = startLane(1);
  const all = ['a1', 'a2', 'b1'].map((name) => run(name));
  await pass(100);
  await end('a1');
  await end('b1');
  expect(begun).toEqual(['a1', 'b1']);
  await pass(99);
  expect(begun).toEqual(['a1', 'b1']);
  await pass(1);
  expect(begun).toEqual(['a1', 'b1', 'a2']);
  await end('a2');
  await Promise.all(all);
});

test('after work of 10 s, its key waits for a quarter of a second', async () => {
  const { run, end, begun } = startLane(1);
  const all = ['a1', 'a2'].map((name) => run(name));
  await pass(10_000);
  await end('a1');
  await pass(249);
  expect(begun).toEqual(['a1']);
  await pass(1);
  expect(begun).toEqual(['a1', 'a2']);
  await end('a2');
  await Promise.all(all);
});

test('who has gone is not waited for, before its turn and at it', async () => {
  const { run, end, begun } = startLane(1);
  const gone = new AbortController();
  const first = run('a1');
  const refused = run('b1', gone.signal);
  const last = run('c1');
  gone.abort();
  await expect(refused).rejects.toMatchObject({ reason: 'UNAVAILABLE' });
  await expect(run('d1', gone.signal)).rejects.toMatchObject({ reason: 'UNAVAILABLE' });
  await end('a1');
  await end('c1');
  expect(await Promise.all([first, last])).toEqual(['a1', 'c1']);
  expect(begun).toEqual(['a1', 'c1']);
});

test('work of a caller who has gone is not begun, though there is room', async () => {
  const { run, begun } = startLane(1);
  await expect(run('a1', AbortSignal.abort())).rejects.toMatchObject({ reason: 'UNAVAILABLE' });
  expect(begun).toEqual([]);
});

test('work that fails gives its turn to the next', async () => {
  const queue = createFairQueue(1);
  const failed = queue.run('a', NEVER, async () => {
    throw new Error('failed');
  });
  const next = queue.run('a', NEVER, async () => 'done');
  await expect(failed).rejects.toThrow('failed');
  await pass(0);
  expect(await next).toBe('done');
});

const NEVER = new AbortController().signal;

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** A queue whose work is held until it is let go, by name. */
function startLane(maxRunning: number) {
  const queue = createFairQueue(maxRunning);
  const begun: string[] = [];
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const run = (name: string, signal = NEVER) => {
    const gate = Promise.withResolvers<void>();
    gates.set(name, gate);
    const [key = ''] = name;
    return queue.run(key, signal, async () => {
      begun.push(name);
      await gate.promise;
      return name;
    });
  };
  const end = async (name: string) => {
    gates.get(name)?.resolve();
    await pass(0);
  };
  return { run, end, begun };
}
