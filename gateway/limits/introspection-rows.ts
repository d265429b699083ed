// Row counts of introspection fields, so that repeated introspection has a cost.
import { type GraphQLSchema, isEnumType, isInputObjectType, isObjectType } from 'graphql';

/** By Type.field: the mean over all types, exact if all are requested, and the maximum. */
type Rows = Readonly<Record<string, { mean: number; most: number }>>;

const remembered = new WeakMap<GraphQLSchema, Rows>();

/** `field` as Type.field; `ofAll`: requested for all types or fields of the schema. */
export function introspectionRows(schema: GraphQLSchema, field: string, ofAll: boolean): number {
  const rows = remembered.get(schema) ?? countRows(schema);
  remembered.set(schema, rows);
  const { mean, most } = rows[field] ?? ONE;
  return ofAll ? mean : most;
}

const ONE = { mean: 1, most: 1 };

function countRows(schema: GraphQLSchema): Rows {
  const types = Object.values(schema.getTypeMap());
  const fields = types.filter(isObjectType).map((type) => Object.values(type.getFields()));
  const inputFields = types.filter(isInputObjectType).map((type) => Object.values(type.getFields()));
  const enumValues = types.filter(isEnumType).map((type) => type.getValues());
  const directives = schema.getDirectives();
  const exactly = (rows: number) => ({ mean: rows, most: rows });
  const over = (parents: number, lists: readonly (readonly unknown[])[]) => ({
    mean: lists.reduce((sum, { length }) => sum + length, 0) / parents,
    most: Math.max(...lists.map(({ length }) => length)),
  });
  const argumentLists = fields.flat().map(({ args }) => args);
  return {
    '__Schema.types': exactly(types.length),
    '__Schema.directives': exactly(directives.length),
    '__Type.fields': over(types.length, fields),
    '__Type.inputFields': over(types.length, inputFields),
    '__Type.enumValues': over(types.length, enumValues),
    '__Field.args': over(argumentLists.length, argumentLists),
    '__Directive.args': over(
      directives.length,
      directives.map(({ args }) => args),
    ),
    '__Directive.locations': exactly(20),
  };
}
