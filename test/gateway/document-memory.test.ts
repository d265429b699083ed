// What documents leave behind in the gateway's memory, in bytes that V8 counts.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';

test.beforeAll(takeServices);

test.each(
  Object.entries<(index: number) => string>(
    /** Valid ones that differ each time, of the kinds that hold the most. */
    {
      'many tokens': (index) =>
        `mutation { a${index}: snoozeMaterials(input: {userId: "x", materialIds: [${repeat(900, (id) => `"${id}"`)}]}) @skip(if: true) { __typename } }`,
      'a text that is escaped all through': (index) =>
        `{ a${index}: user(email: "${'\\u4e00'.repeat(3000)}") { id } }`,
    },
  ),
)(
  'documents with %s leave at most 16 MiB',
  async (_name, make) => {
    for (let index = 0; index < 2; index += 1) await gateway.query(make(index));
    const before = heapBytes();
    for (let index = 2; index < 102; index += 1) {
      const { status, errors } = await gateway.query(make(index));
      expect([status, errors?.[0]?.message]).toEqual([200, undefined]);
    }
    // What else the process holds comes and goes.
    expect((heapBytes() - before) / MIB).toBeLessThan(16 + 8);
  },
  60_000,
);

let gateway: Given<'gateway'>['gateway'];

function takeServices({ gateway: own }: Given<'gateway'>): void {
  gateway = own;
}

const MIB = 1024 * 1024;
const repeat = (count: number, make: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => make(index)).join(' ');

function heapBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  for (let time = 0; time < 3; time += 1) collect();
  return process.memoryUsage().heapUsed;
}
