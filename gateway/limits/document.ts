// Parses a document into its operations, the selected operation, its fragments and its variables.
import {
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  type OperationDefinitionNode,
  parse,
  valueFromASTUntyped,
  visit,
} from 'graphql';
import { invalidField, invalidRequest, ServiceError } from '../../services/platform/errors.ts';
import { describeSyntaxError } from '../graphql/refusals.ts';
import { LIMITS } from './limits.ts';

export type KnownDocument = {
  document: DocumentNode;
  /** Whether the document is known to be valid and within the limits of its parts. */
  isValid: boolean;
  operations: OperationDefinitionNode[];
  fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  /** Names of all fields in all operations and fragments. */
  fields: ReadonlySet<string>;
};

/** @throws INVALID_REQUEST with the problem and its position. */
export function parseWithin(query: string): DocumentNode {
  try {
    return parse(query, { maxTokens: LIMITS.tokens });
  } catch (error) {
    if (error instanceof GraphQLError) {
      const message = describeSyntaxError(error);
      throw new ServiceError('INVALID_REQUEST', { message, field: 'query', cause: error });
    }
    throw error;
  }
}

export function knowDocument(document: DocumentNode, isValid: boolean): KnownDocument {
  const fragments = document.definitions.filter((each) => each.kind === Kind.FRAGMENT_DEFINITION);
  const operations = document.definitions.filter((each) => each.kind === Kind.OPERATION_DEFINITION);
  const fields = new Set<string>();
  visit(document, { Field: ({ name }) => void fields.add(name.value) });
  const fragmentOf = new Map(fragments.map((each) => [each.name.value, each]));
  return { document, isValid, operations, fragments: fragmentOf, fields };
}

/** @throws INVALID_REQUEST if the document exceeds the limit of a part. */
export function requireFewParts({ document, operations, fragments }: KnownDocument): void {
  const count = { aliases: 0, directives: 0, fragments: fragments.size, operations: operations.length };
  const fieldsOf = new Map<string, number>();
  visit(document, {
    Field: ({ name, alias }) => {
      const responseKey = alias?.value ?? name.value;
      fieldsOf.set(responseKey, (fieldsOf.get(responseKey) ?? 0) + 1);
      if (alias === undefined) return;
      count.aliases += 1;
      requireOwnName(alias.value);
    },
    VariableDefinition: ({ variable }) => requireOwnName(variable.name.value),
    Directive: () => {
      count.directives += 1;
    },
  });
  for (const part of ['aliases', 'directives', 'fragments', 'operations'] as const) {
    if (count[part] > LIMITS[part])
      throw invalidRequest('query', `At most ${LIMITS[part]} ${part} are allowed.`);
  }
  const pairs = [...fieldsOf.values()].reduce((sum, fields) => sum + fields * fields, 0);
  if (pairs > LIMITS.pairs)
    throw invalidRequest('query', 'The document asks for too many fields of one name: ask for each once.');
  const lines = document.loc?.source.body.split(/\r\n|[\r\n]/, LIMITS.lines + 1).length ?? 0;
  if (lines > LIMITS.lines)
    throw invalidRequest('query', `At most ${LIMITS.lines} lines are allowed: send long texts as variables.`);
}

/** Bounds aliases, which the response repeats per row, and variable names, which errors repeat. */
function requireOwnName(name: string): void {
  if (name.startsWith('__'))
    throw invalidRequest('query', 'Names that begin with __ are those of GraphQL itself.');
  if (name.length > LIMITS.nameCharacters)
    throw invalidRequest(
      'query',
      `An alias or variable may have at most ${LIMITS.nameCharacters} characters.`,
    );
}

/** The operation to execute. @throws INVALID_REQUEST if it is ambiguous or missing. */
export function selectOperation(
  operations: readonly OperationDefinitionNode[],
  name: string | undefined,
): OperationDefinitionNode {
  const candidates =
    name === undefined ? operations : operations.filter((operation) => operation.name?.value === name);
  const [operation] = candidates;
  if (operation?.operation === 'subscription')
    throw invalidRequest('query', 'There are no subscriptions here.');
  if (operation !== undefined && candidates.length === 1) return operation;
  throw invalidField('operationName', 'must name one operation of the document.');
}

/** The variables with defaults applied, so that the size of a default counts, too. */
export function withDefaults(
  { variableDefinitions = [] }: OperationDefinitionNode,
  given: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const variables: Record<string, unknown> = Object.create(null);
  for (const { variable, defaultValue } of variableDefinitions) {
    const name = variable.name.value;
    if (Object.hasOwn(given, name) && given[name] !== undefined) variables[name] = given[name];
    else if (defaultValue !== undefined) variables[name] = valueFromASTUntyped(defaultValue);
  }
  return variables;
}
