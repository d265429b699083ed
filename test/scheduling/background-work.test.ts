// Work in the background beside requests that somebody waits for.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createBackground } from '../../services/scheduling/background.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'performance'] }));
afterEach(() => void vi.useRealTimers());

test('while nobody is served, one part follows on the other', async () => {
  const { add, done } = startBackground();
  for (const name of ['a', 'b', 'c']) add(name, 20);
  await pass(60);
  expect(done).toEqual(['a', 'b', 'c']);
});

test('of requests without an end, pieces of 20 ms leave 98 % of the time to them', async () => {
  const { add, done, serveEvery } = startBackground();
  const stop = serveEvery(100);
  for (const name of ['a', 'b', 'c']) add(name, 20);
  await pass(20 + 979);
  expect(done).toEqual(['a']);
  await pass(21);
  expect(done).toEqual(['a', 'b']);
  await pass(1000);
  expect(done).toEqual(['a', 'b', 'c']);
  stop();
});

test('a request counts as being served for as long as it takes', async () => {
  const { background, add, done } = startBackground();
  void background.serve(() => sleep(2000));
  add('a', 20);
  add('b', 20);
  await pass(20 + 979);
  expect(done).toEqual(['a']);
  await pass(21);
  expect(done).toEqual(['a', 'b']);
});

test('a rest takes 4 s at most', async () => {
  const { add, done, serveEvery } = startBackground();
  const stop = serveEvery(100);
  add('a', 1000);
  add('b', 20);
  await pass(1000 + 4000 + 19);
  expect(done).toEqual(['a']);
  await pass(1);
  expect(done).toEqual(['a', 'b']);
  stop();
});

test('work of a caller who has gone is not begun, and the next takes its turn', async () => {
  const { background, add, done, serveEvery } = startBackground();
  const stop = serveEvery(100);
  const gone = new AbortController();
  add('a', 20);
  const refused = background
    .run('gone', gone.signal, async () => done.push('refused'))
    .catch((error) => error);
  add('b', 20);
  await pass(100);
  gone.abort();
  await pass(900);
  expect(await refused).toMatchObject({ reason: 'UNAVAILABLE' });
  await pass(20);
  expect(done).toEqual(['a', 'b']);
  stop();
});

test('work that fails rests like any other, and tells its caller', async () => {
  const { background, add, done, serveEvery } = startBackground();
  const stop = serveEvery(100);
  const fail = async () => {
    await sleep(20);
    throw new Error('failed');
  };
  const failed = background.run('failing', NEVER, fail).catch((error) => error);
  add('a', 20);
  await pass(20 + 979);
  expect(await failed).toMatchObject({ message: 'failed' });
  expect(done).toEqual([]);
  await pass(21);
  expect(done).toEqual(['a']);
  stop();
});

const NEVER = new AbortController().signal;

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

function startBackground() {
  const background = createBackground();
  const done: string[] = [];
  return {
    background,
    done,
    /** A part that takes `ms`, of a user of its own. */
    add(name: string, ms: number) {
      void background.run(name, NEVER, async () => {
        await sleep(ms);
        done.push(name);
      });
    },
    /** Serves somebody each `ms` until it is stopped. */
    serveEvery(ms: number) {
      const serve = () => void background.serve(async () => {});
      serve();
      const timer = setInterval(serve, ms);
      return () => clearInterval(timer);
    },
  };
}
