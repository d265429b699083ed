// Messages of every rpc with every field out of its range, made from the proto itself.
import type { MessageTypeDefinition, MethodDefinition } from '@grpc/proto-loader';
import fc from 'fast-check';

type Field = { name: string; type: string; label: string; typeName: string };
type Message = { [field: string]: unknown };

const TEXTS = [
  '',
  'x',
  '\0',
  ' ',
  '%_\\',
  '01900000-0000-7000-8000-000000000000',
  '01900000-0000-7000-8000-00000000000G',
  "'; DROP TABLE scheduling.materials; --",
  'Europe/Nowhere',
  'é'.repeat(300),
  'y'.repeat(70_000),
  '\u{10FFFF}'.repeat(241),
  'a@b@c',
  'rmk_live_x',
];
const NUMBERS = [0, -1, 1, 6, 101, 366, 36_501, 2_147_483_647, -2_147_483_648];
const SECONDS = [0, -1, -62_135_596_801, 253_402_300_800, 9_007_199_254_740_991, -9_007_199_254_740_991];

/** Any message of a request type: each field absent, in its range, or far out of it. */
export function anyMessage(method: MethodDefinition<object, object>, userId: string): fc.Arbitrary<Message> {
  return messageOf(method.requestType, userId);
}

function messageOf({ type }: MessageTypeDefinition<object, object>, userId: string): fc.Arbitrary<Message> {
  // The descriptor that proto-loader keeps with every message: google.protobuf.DescriptorProto.
  const { field: fields } = type as unknown as { field: Field[] };
  const arbitraries = Object.fromEntries(
    fields.map((field) => {
      const one = anyValue(field, userId);
      const isRepeated = field.label === 'LABEL_REPEATED';
      return [field.name, isRepeated ? fc.oneof(fc.array(one, { maxLength: 3 }), manyOf(one)) : one];
    }),
  );
  return fc.record(arbitraries, { requiredKeys: [] }) as fc.Arbitrary<Message>;
}

const manyOf = (one: fc.Arbitrary<unknown>) => one.map((value) => Array.from({ length: 101 }, () => value));

function anyValue({ name, type, typeName }: Field, userId: string): fc.Arbitrary<unknown> {
  if (name === 'user_id' || name === 'userId') return fc.constantFrom(userId, userId, userId, ...TEXTS);
  switch (type) {
    case 'TYPE_STRING':
      return fc.oneof(fc.constantFrom(...TEXTS), fc.string({ unit: 'binary', maxLength: 20 }).map(storable));
    case 'TYPE_BOOL':
      return fc.boolean();
    case 'TYPE_ENUM':
      return fc.constantFrom(0, 1, 2, 99, -1);
    case 'TYPE_MESSAGE':
      return typeName.endsWith('Timestamp')
        ? fc.record({
            seconds: fc.constantFrom(...SECONDS),
            nanos: fc.constantFrom(0, -1, 999_999_999, 1_000_000_000),
          })
        : fc.constant({});
    case 'TYPE_DOUBLE':
    case 'TYPE_FLOAT':
      return fc.constantFrom(0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e308);
    default:
      return fc.constantFrom(...NUMBERS);
  }
}

/** A lone surrogate cannot be encoded at all; protobuf would send another text. */
const storable = (text: string) => text.toWellFormed();
