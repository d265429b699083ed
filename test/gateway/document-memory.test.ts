// What documents leave behind in the gateway's memory, in bytes that V8 counts.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';

test.beforeAll(takeServices);

const repeat = (count: number, make: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => make(index)).join(' ');

/** Valid ones that differ each time, of the kinds that hold the most. */
const MAKERS: ((index: number) => string)[] = [
  // Many tokens.
  (index) =>
    `mutation { a${index}: snoozeMaterials(input: {userId: "x", materialIds: [${repeat(900, (id) => `"${id}"`)}]}) @skip(if: true) { __typename } }`,
  // A text that is escaped all through.
  (index) => `{ a${index}: user(email: "${'\\u4e00'.repeat(3000)}") { id } }`,
];

test('documents with many tokens, or with a text that is escaped all through, leave at most 16 MiB', async () => {
  const send = async (from: number, to: number) => {
    for (let index = from; index < to; index += 1)
      for (const make of MAKERS) {
        const { status, errors } = await gateway.query(make(index));
        expect([status, errors?.[0]?.message]).toEqual([200, undefined]);
      }
  };
  await send(0, 2);
  const before = heapBytes();
  await send(2, 72);
  // What else the process holds comes and goes.
  expect((heapBytes() - before) / MIB).toBeLessThan(16 + 8);
});

let gateway: Given<'gateway'>['gateway'];

function takeServices({ gateway: own }: Given<'gateway'>): void {
  gateway = own;
}

const MIB = 1024 * 1024;
function heapBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  for (let time = 0; time < 3; time += 1) collect();
  return process.memoryUsage().heapUsed;
}
