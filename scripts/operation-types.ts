// TypeScript types of GraphQL documents: the data of the response, as JSON, and the variables.
import {
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLSchema,
  type GraphQLType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  parse,
  type SelectionSetNode,
  typeFromAST,
  validate,
} from 'graphql';

const SCALARS: Readonly<Record<string, string>> = { Boolean: 'boolean', Int: 'number', Float: 'number' };

/**
 * The source of `export type Operations`, by the name of each document, with `data` and `variables`. `documents` have one
 * operation each and no fragments. @throws Error for a document that does not fit the schema.
 */
export function operationTypes(schema: GraphQLSchema, documents: Readonly<Record<string, string>>): string {
  const types = Object.entries(documents).map(([name, text]) => {
    const document = parse(text);
    const errors = validate(schema, document);
    if (errors.length > 0) throw new Error(`${name}: ${errors.map(({ message }) => message).join(' ')}`);
    const operation = document.definitions.find((node) => node.kind === Kind.OPERATION_DEFINITION);
    if (operation === undefined) throw new Error(`${name} has no operation`);
    return `  ${name}: { data: ${dataOf(schema, operation)}; variables: ${variablesOf(schema, operation)} };\n`;
  });
  return `export type Operations = {\n${types.join('')}};\n`;
}

type Wrap = (type: GraphQLType, named: (type: GraphQLNamedType) => string) => string;

function dataOf(schema: GraphQLSchema, { operation, selectionSet }: OperationDefinitionNode): string {
  const root = schema.getRootType(operation);
  if (!root) throw new Error(`the schema has no ${operation}`);
  // The payload of a mutation is null only beside an error.
  return select(root, selectionSet, operation === 'mutation' ? present : orNull);
}

function select(parent: GraphQLObjectType, { selections }: SelectionSetNode, wrap: Wrap): string {
  const fields = selections.map((node) => {
    const field = node.kind === Kind.FIELD ? parent.getFields()[node.name.value] : undefined;
    if (node.kind !== Kind.FIELD || field === undefined) throw new Error('fragments are not supported');
    const { alias = node.name, selectionSet } = node;
    const named = (type: GraphQLNamedType) =>
      selectionSet && isObjectType(type) ? select(type, selectionSet, orNull) : leaf(type);
    return `${alias.value}: ${wrap(field.type, named)}`;
  });
  return `{ ${fields.join('; ')} }`;
}

function variablesOf(schema: GraphQLSchema, { variableDefinitions = [] }: OperationDefinitionNode): string {
  const variables = variableDefinitions.map(({ variable, type }) =>
    input(variable.name.value, typeFromAST(schema, type)),
  );
  return `{ ${variables.join('; ')} }`;
}

function input(name: string, type: GraphQLType | undefined): string {
  if (type === undefined) throw new Error(`${name} has no type of the schema`);
  const named = (inner: GraphQLNamedType) => {
    if (!isInputObjectType(inner)) return leaf(inner);
    return `{ ${Object.values(inner.getFields())
      .map((field) => input(field.name, field.type))
      .join('; ')} }`;
  };
  return `${name}${isNonNullType(type) ? '' : '?'}: ${orNull(type, named)}`;
}

function leaf(type: GraphQLNamedType): string {
  if (!isEnumType(type)) return SCALARS[type.name] ?? 'string';
  return type
    .getValues()
    .map(({ name }) => `'${name}'`)
    .join(' | ');
}

const orNull: Wrap = (type, named) => present(type, named) + (isNonNullType(type) ? '' : ' | null');

const present: Wrap = (type, named) => {
  const nullable = getNullableType(type);
  return isListType(nullable) ? `readonly (${orNull(nullable.ofType, named)})[]` : named(nullable);
};
