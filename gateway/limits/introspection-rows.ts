// How many rows a field of introspection is answered with, so that asking for the schema many times over has its cost.
import { type GraphQLSchema, isEnumType, isInputObjectType, isObjectType } from 'graphql';

const remembered = new WeakMap<GraphQLSchema, Readonly<Record<string, number>>>();

/** The mean of this schema; `field` as Type.field. */
export function introspectionRows(schema: GraphQLSchema, field: string): number {
  const rows = remembered.get(schema) ?? meanRows(schema);
  remembered.set(schema, rows);
  return rows[field] ?? 1;
}

function meanRows(schema: GraphQLSchema): Record<string, number> {
  const types = Object.values(schema.getTypeMap());
  const fields = types.filter(isObjectType).flatMap((type) => Object.values(type.getFields()));
  const inputFields = types.filter(isInputObjectType).flatMap((type) => Object.values(type.getFields()));
  const enumValues = types.filter(isEnumType).flatMap((type) => type.getValues());
  const args = fields.flatMap((field) => field.args);
  return {
    '__Schema.types': types.length,
    '__Schema.directives': schema.getDirectives().length,
    '__Type.fields': fields.length / types.length,
    '__Type.inputFields': inputFields.length / types.length,
    '__Type.enumValues': enumValues.length / types.length,
    '__Field.args': args.length / fields.length,
    // Tools ask for nine in one another; half of all types are wrapped in no list and no "not null".
    '__Type.ofType': 0.5,
  };
}
