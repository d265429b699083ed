// How many rows the fields of introspection are counted with, in a schema whose types, fields and values can be counted by hand.
import { buildSchema } from 'graphql';
import { expect, test } from 'vitest';
import { introspectionRows } from '../../gateway/limits/introspection-rows.ts';

/** Beside GraphQL's own: 3 scalars, 6 object types with 40 fields and 6 arguments, 2 enums with 28 values, 5 directives with 4. */
const SCHEMA = `
  type Query { none: Int, one(a: Int): Colour, three(a: Size, b: Int, c: Int): Int }
  type Other { only: Int }
  input Size { width: Int, height: Int, depth: Int }
  input Name { text: String }
  enum Colour { RED GREEN }
  directive @wrapped(times: Int, by: Int) on FIELD
`;

test.each([
  ['__Schema.types', 16, 16],
  ['__Schema.directives', 6, 6],
  ['__Type.fields', 44 / 16, 11],
  ['__Type.inputFields', 4 / 16, 3],
  ['__Type.enumValues', 30 / 16, 20],
  ['__Field.args', 10 / 44, 3],
  ['__Directive.args', 6 / 6, 2],
  ['__Directive.locations', 20, 20],
  // A single one, and one that there is not.
  ['__Field.type', 1, 1],
  ['__Unknown.fields', 1, 1],
])('%s has %d rows on average over all of its parents, and %d at most', (field, mean, most) => {
  // A new one for each case: the rows of a schema are counted once.
  const schema = buildSchema(SCHEMA);
  expect(introspectionRows(schema, field, true)).toBe(mean);
  expect(introspectionRows(schema, field, false)).toBe(most);
});

test('each schema has rows of its own, however often it is asked for', () => {
  const schema = buildSchema(SCHEMA);
  const other = buildSchema('type Query { first: Int, second: Int } input One { a: Int }');
  for (let times = 1; times <= 2; times += 1) {
    expect(introspectionRows(other, '__Schema.types', true)).toBe(13);
    expect(introspectionRows(schema, '__Schema.types', true)).toBe(16);
  }
});
