// Refuses text that PostgreSQL cannot store in UTF-8, in all arguments, as REST does.
import { defaultFieldResolver, type GraphQLSchema, isObjectType } from 'graphql';
import { invalidField } from '../../services/platform/errors.ts';
import { isStorable } from '../../services/platform/text.ts';

/** Modifies `schema` in place. Checks the argument values that resolvers receive, from literals and variables. */
export function requireStorableArguments(schema: GraphQLSchema): void {
  const types = Object.values(schema.getTypeMap()).filter(isObjectType);
  const fields = types
    .filter(({ name }) => !name.startsWith('__'))
    .flatMap((type) => Object.values(type.getFields()));
  for (const field of fields) {
    if (field.args.length === 0) continue;
    const resolve = field.resolve ?? defaultFieldResolver;
    field.resolve = (parent, input: Record<string, unknown>, context, info) => {
      for (const name in input) requireStorable(name, input[name]);
      return resolve(parent, input, context, info);
    };
  }
}

/** `name`: the argument or the innermost input field. @throws INVALID_REQUEST with it as the field. */
function requireStorable(name: string, value: unknown): void {
  if (typeof value === 'string') {
    if (!isStorable(value)) throw invalidField(name, 'must not hold U+0000 or half of a surrogate pair.');
  } else if (Array.isArray(value)) {
    for (const item of value) requireStorable(name, item);
  } else if (typeof value === 'object' && value !== null && !(value instanceof Date)) {
    for (const [field, part] of Object.entries(value)) requireStorable(field, part);
  }
}
