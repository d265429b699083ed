import { join } from 'node:path';
import fc from 'fast-check';
import protobuf from 'protobufjs';
import { beforeAll, describe, expect, test } from 'vitest';
import { loadProto } from '../../services/platform/protobuf/load.ts';

let list: protobuf.Type;
let search: protobuf.Type;
beforeAll(() => {
  // From here on, whatever is written is written by ours.
  loadProto('scheduling/v1');
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) =>
    target.startsWith('google/protobuf/') ? target : join(import.meta.dirname, '../../proto', target);
  root.loadSync('scheduling/v1/material_service.proto');
  list = root.lookupType('scheduling.v1.BatchListMaterialsResponse');
  search = root.lookupType('scheduling.v1.ListMaterialsRequest');
});

const ours = (type: protobuf.Type, value: object) =>
  Buffer.from(type.encode(type.fromObject(value)).finish());
/** protobufjs's own writer, which ours stands in for. */
const theirs = (type: protobuf.Type, value: object) =>
  Buffer.from(type.encode(type.fromObject(value), new protobuf.BufferWriter()).finish());

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc
    .constantFrom(0, 1, 41, 42, 43, 126, 127, 128, 16_383, 16_384, 70_000)
    .map((length) => 'x'.repeat(length)),
  fc.constantFrom(42, 43, 64, 127, 5462, 16_383).map((length) => 'é€'.repeat(length)),
);
const instant = fc.record({
  seconds: fc.oneof(
    fc.integer({ min: -(2 ** 40), max: 2 ** 40 }),
    fc.constantFrom(0, 127, 128, 2 ** 28, 2 ** 32 - 1, 2 ** 32, 2 ** 35, -1, 253_402_300_799),
  ),
  nanos: fc.integer({ min: -1, max: 999_999_999 }),
});
const material = fc.record({
  materialId: text,
  title: text,
  content: fc.option(text, { nil: undefined }),
  type: fc.constantFrom('MATERIAL_TYPE_CARD', 'MATERIAL_TYPE_UNSPECIFIED'),
  easeFactor: fc.oneof(fc.double(), fc.constant(2.5)),
  intervalDays: fc.integer({ min: -1, max: 2 ** 31 - 1 }),
  nextReviewTime: fc.option(instant, { nil: undefined }),
  createTime: instant,
});
const status = fc.record({
  code: fc.integer({ min: 0, max: 16 }),
  message: text,
  details: fc.array(fc.record({ type_url: text, value: fc.uint8Array({ maxLength: 50 }) }), { maxLength: 2 }),
});
const batch = fc.record({
  responses: fc.array(fc.record({ materials: fc.array(material, { maxLength: 8 }), nextPageToken: text }), {
    maxLength: 6,
  }),
  failedRequests: fc
    .array(fc.tuple(fc.nat(15), status), { maxLength: 3 })
    .map((entries) => Object.fromEntries(entries)),
});

describe('messages', () => {
  test('are written byte for byte as protobufjs writes them, one after the other', () => {
    fc.assert(
      fc.property(batch, (value) => {
        expect(ours(list, value).equals(theirs(list, value))).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test('larger than the buffer that is kept are whole, and so are those after them', () => {
    const large = { query: 'é'.repeat(3 * 1024 * 1024), userId: 'u' };
    const written = ours(search, large);
    expect(written.equals(theirs(search, large))).toBe(true);
    const small = ours(search, { userId: 'small' });
    expect([...small]).toEqual([10, 5, ...Buffer.from('small')]);
    expect(written.equals(theirs(search, large))).toBe(true);
  });

  test('hold valid UTF-8 for half of a surrogate pair, for which protobufjs writes invalid bytes', () => {
    expect([...ours(search, { userId: '\ud800' })]).toEqual([10, 3, 0xef, 0xbf, 0xbd]);
  });

  test('are not harmed by one before them that could not be written', () => {
    const broken = list.create({
      responses: [{ materials: [{ title: 'cut off', createTime: 5 }, null] }],
    });
    expect(() => list.encode(broken).finish()).toThrow(TypeError);
    expect([...ours(search, { userId: 'after' })]).toEqual([10, 5, ...Buffer.from('after')]);
  });
});
