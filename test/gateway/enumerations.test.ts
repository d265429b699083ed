// The enumerations that the schema has from the protos.
import { GraphQLEnumType } from 'graphql';
import { expect, test } from 'vitest';
import { buildGatewaySchema } from '../../gateway/schema/schema.ts';

test('an enumeration has the values of the proto but that for none, and its descriptions', () => {
  const type = buildGatewaySchema().getType('Plan');
  const values = type instanceof GraphQLEnumType ? type.getValues() : [];
  expect(type?.description).toBe('What a user pays for.');
  expect(values.map(({ name, value, description }) => ({ name, value, description }))).toEqual([
    { name: 'FREE', value: 'PLAN_FREE', description: 'Free of charge; "free" in the public API.' },
    { name: 'PREMIUM', value: 'PLAN_PREMIUM', description: 'The paid plan; "premium" in the public API.' },
  ]);
});
