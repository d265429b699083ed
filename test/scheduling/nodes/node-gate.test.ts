import { expect, test } from 'vitest';
import { ServiceError } from '../../../services/platform/errors.ts';
import { createNodeGate, EVERYONE } from '../../../services/scheduling/nodes/node-gate.ts';
import { refusal } from '../../support/scheduling.ts';

const SICK = '00000000-0000-7000-8000-000000000001';
const WELL = '00000000-0000-7000-8000-000000000002';
const gateOf = () => createNodeGate((userId) => (userId === SICK ? 1 : 2));
/** Work that ends when told to. */
function work() {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let begun = 0;
  const run = () => {
    begun += 1;
    return promise;
  };
  return { run, begun: () => begun, resolve, reject };
}
const settled = () => new Promise((resolve) => setImmediate(resolve));
const down = () => Promise.reject(new ServiceError('UNAVAILABLE'));

test('four requests run at once on a node, the fifth follows the first that ends, and other nodes are not kept waiting', async () => {
  const gate = gateOf();
  const slow = work();
  const four = Array.from({ length: 4 }, () => gate(SICK, slow.run));
  const fifth = work();
  const late = gate(SICK, fifth.run);
  await settled();
  expect([slow.begun(), fifth.begun()]).toEqual([4, 0]);
  expect(await gate(WELL, async () => 'answered')).toBe('answered');
  slow.resolve('done');
  await Promise.all(four);
  await settled();
  expect(fifth.begun()).toBe(1);
  fifth.resolve('done too');
  expect(await late).toBe('done too');
});

test('a request that has waited for 0.75 s is refused without running, and leaves its place to others', async () => {
  const gate = gateOf();
  const slow = work();
  const four = Array.from({ length: 4 }, () => gate(SICK, slow.run));
  const fifth = work();
  expect(await refusal(gate(SICK, fifth.run))).toBe('UNAVAILABLE');
  expect(fifth.begun()).toBe(0);
  slow.resolve('done');
  await Promise.all(four);
  const many = work();
  const next = Array.from({ length: 4 }, () => gate(SICK, many.run));
  await settled();
  expect(many.begun()).toBe(4);
  many.resolve('done');
  await Promise.all(next);
});

test('after three failures in a row one request at a time tries, and one success opens the node again', async () => {
  const gate = gateOf();
  for (let failure = 0; failure < 3; failure += 1)
    expect(await refusal(gate(SICK, down))).toBe('UNAVAILABLE');
  const [probe, other] = [work(), work()];
  const tried = gate(SICK, probe.run);
  expect(await refusal(gate(SICK, other.run))).toBe('UNAVAILABLE');
  expect([probe.begun(), other.begun()]).toEqual([1, 0]);
  probe.reject(new ServiceError('UNAVAILABLE'));
  expect(await refusal(tried)).toBe('UNAVAILABLE');
  // Others of a batch would wait for it.
  expect(await refusal(gate(SICK, other.run, false))).toBe('UNAVAILABLE');
  expect(other.begun()).toBe(0);
  expect(await gate(SICK, async () => 'answered')).toBe('answered');
  const many = work();
  const four = Array.from({ length: 4 }, () => gate(SICK, many.run));
  await settled();
  expect(many.begun()).toBe(4);
  many.resolve('done');
  await Promise.all(four);
});

test('errors of requests themselves do not count as failures of the node', async () => {
  const gate = gateOf();
  const missing = () => Promise.reject(new ServiceError('NOT_FOUND'));
  for (let index = 0; index < 5; index += 1) expect(await refusal(gate(SICK, missing))).toBe('NOT_FOUND');
  const two = work();
  const both = [gate(SICK, two.run), gate(SICK, two.run)];
  await settled();
  expect(two.begun()).toBe(2);
  two.resolve('done');
  await Promise.all(both);
});

test('a batch does not wait for a node that keeps its places for 0.1 s without an answer', async () => {
  const gate = gateOf();
  const slow = work();
  const four = Array.from({ length: 4 }, () => gate(SICK, slow.run));
  const alone = gate(SICK, async () => 'waited');
  await expect
    .poll(() => Promise.race([refusal(gate(SICK, slow.run, false)), settled()]))
    .toBe('UNAVAILABLE');
  slow.resolve('done');
  await Promise.all(four);
  expect(await alone).toBe('waited');
});

test('work for everyone has four places of its own', async () => {
  const gate = gateOf();
  const [everyone, sick] = [work(), work()];
  const running = Array.from({ length: 5 }, () => gate(EVERYONE, everyone.run));
  running.push(gate(SICK, sick.run));
  await settled();
  expect([everyone.begun(), sick.begun()]).toEqual([4, 1]);
  for (const each of [everyone, sick]) each.resolve('done');
  await Promise.all(running);
});
