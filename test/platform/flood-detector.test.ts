import { expect, test } from 'vitest';
import { createFloodDetector } from '../../services/platform/http/flood-detector.ts';

function startWatch() {
  let now = 0;
  const watch = createFloodDetector(() => now);
  const refuse = (key: string, times: number) => {
    for (let time = 0; time < times; time += 1) watch.refused(key);
  };
  return { watch, refuse, at: (ms: number) => (now = ms) };
}

test('the hundred and first refusal within a second makes a flood', () => {
  const { watch, refuse } = startWatch();
  refuse('greedy', 100);
  expect(watch.isFlooding('greedy')).toBe(false);
  refuse('greedy', 1);
  expect(watch.isFlooding('greedy')).toBe(true);
  expect(watch.isFlooding('modest')).toBe(false);
});

test('a hundred in each of two seconds make none', () => {
  const { watch, refuse, at } = startWatch();
  refuse('busy', 100);
  at(1000);
  refuse('busy', 100);
  expect(watch.isFlooding('busy')).toBe(false);
});

test('no key counts as a flood if all are refused alike', () => {
  const { watch, refuse } = startWatch();
  for (let round = 0; round < 300; round += 1) for (let key = 0; key < 20; key += 1) refuse(`k${key}`, 1);
  for (let key = 0; key < 20; key += 1) expect(watch.isFlooding(`k${key}`)).toBe(false);
  refuse('k0', 400);
  expect(watch.isFlooding('k0')).toBe(true);
});

test('a flood is over two seconds after its last refusal too many', () => {
  const { watch, refuse, at } = startWatch();
  refuse('greedy', 101);
  at(1999);
  expect(watch.isFlooding('greedy')).toBe(true);
  at(2000);
  expect(watch.isFlooding('greedy')).toBe(false);
  refuse('greedy', 100);
  expect(watch.isFlooding('greedy')).toBe(false);
});

test('a flood that goes on is one all the time', () => {
  const { watch, refuse, at } = startWatch();
  for (let ms = 0; ms < 10_000; ms += 10) {
    at(ms);
    refuse('greedy', 5);
    expect(watch.isFlooding('greedy')).toBe(ms >= 200);
  }
});

test('a second is a second: one more at its last millisecond makes a flood, and at the next begins anew', () => {
  for (const [ms, isFlood] of [
    [999, true],
    [1000, false],
  ] as const) {
    const { watch, refuse, at } = startWatch();
    refuse('greedy', 100);
    at(ms);
    refuse('greedy', 1);
    expect(watch.isFlooding('greedy'), `${ms}`).toBe(isFlood);
  }
});

test('a tenth of all refusals is no flood, and more than a tenth is one', () => {
  const { watch, refuse } = startWatch();
  // Of 1,010.
  for (let key = 0; key < 9; key += 1) refuse(`k${key}`, 101);
  refuse('greedy', 101);
  expect(watch.isFlooding('greedy')).toBe(false);
  refuse('greedy', 1);
  expect(watch.isFlooding('greedy')).toBe(true);
});
