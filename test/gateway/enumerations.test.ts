// The enumerations that the schema and the protos share.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { GraphQLEnumType } from 'graphql';
import { expect, test } from 'vitest';
import { PREFIXES } from '../../gateway/schema/enumerations.ts';
import { buildGatewaySchema } from '../../gateway/schema/schema.ts';

test.each(Object.entries(PREFIXES))(
  '%s has each value of the protos that is given a meaning',
  (name, prefix) => {
    const root = join(import.meta.dirname, '../../proto');
    const text = globSync('*/v1/*.proto', { cwd: root }).map((file) =>
      readFileSync(join(root, file), 'utf8'),
    );
    const named = [...text.join('\n').matchAll(/^ +([A-Z]\w+) = \d+;/gm)].map(([, value = '']) => value);
    const inProtos = named.filter((value) => value.startsWith(prefix) && value !== `${prefix}UNSPECIFIED`);
    const type = buildGatewaySchema().getType(name) as GraphQLEnumType;
    const inSchema = type.getValues().map(({ value }) => value);
    expect(inProtos.length).toBeGreaterThan(1);
    expect(inSchema.toSorted()).toEqual(inProtos.toSorted());
  },
);
