// A document in its parts: its operations, the one that would be run, its fragments, and what its variables will be.
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
import { invalidField } from '../../services/platform/errors.ts';
import { refuseDocument } from '../errors.ts';
import { describeSyntaxError } from '../refusals.ts';
import { LIMITS } from './limits.ts';

export type KnownDocument = {
  document: DocumentNode;
  /** Whether it was found valid, and with that within the limits of its parts. */
  isValid: boolean;
  operations: OperationDefinitionNode[];
  fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  /** Names of all its fields, in whichever of its operations and fragments. */
  fields: ReadonlySet<string>;
};

/** @throws INVALID_REQUEST with what is wrong and where. */
export function parseWithin(query: string): DocumentNode {
  try {
    return parse(query, { maxTokens: LIMITS.tokens });
  } catch (error) {
    if (error instanceof GraphQLError) throw refuseDocument(describeSyntaxError(error));
    throw error;
  }
}

export function knowDocument(document: DocumentNode, isValid: boolean): KnownDocument {
  const fragments = document.definitions.filter(
    (definition): definition is FragmentDefinitionNode => definition.kind === Kind.FRAGMENT_DEFINITION,
  );
  const operations = document.definitions.filter(
    (definition): definition is OperationDefinitionNode => definition.kind === Kind.OPERATION_DEFINITION,
  );
  const fields = new Set<string>();
  visit(document, { Field: ({ name }) => void fields.add(name.value) });
  const fragmentOf = new Map(fragments.map((each) => [each.name.value, each]));
  return { document, isValid, operations, fragments: fragmentOf, fields };
}

/** @throws INVALID_REQUEST for more of anything than a document may have. */
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
    if (count[part] > LIMITS[part]) throw refuseDocument(`At most ${LIMITS[part]} ${part} are allowed.`);
  }
  const pairs = [...fieldsOf.values()].reduce((sum, fields) => sum + fields * fields, 0);
  if (pairs > LIMITS.pairs)
    throw refuseDocument('The document asks for too many fields of one name: ask for each once.');
  const lines = document.loc?.source.body.split(/\r\n|[\r\n]/, LIMITS.lines + 1).length ?? 0;
  if (lines > LIMITS.lines)
    throw refuseDocument(`At most ${LIMITS.lines} lines are allowed: send long texts as variables.`);
}

/** An alias stands in the answer once for each row, and the name of a variable in errors. */
function requireOwnName(name: string): void {
  if (name.startsWith('__')) throw refuseDocument('Names that begin with __ are those of GraphQL itself.');
  if (name.length > LIMITS.nameCharacters)
    throw refuseDocument(`An alias or variable may have at most ${LIMITS.nameCharacters} characters.`);
}

/** The one that would be run. @throws INVALID_REQUEST where it cannot be told. */
export function selectOperation(
  operations: readonly OperationDefinitionNode[],
  name: string | undefined,
): OperationDefinitionNode {
  const candidates =
    name === undefined ? operations : operations.filter((operation) => operation.name?.value === name);
  const [operation] = candidates;
  if (operation?.operation === 'subscription') throw refuseDocument('There are no subscriptions here.');
  if (operation !== undefined && candidates.length === 1) return operation;
  throw invalidField('operationName', 'operationName must name one operation of the document.');
}

/** What the variables will be: execution takes a default too, so its size counts like one that was sent. */
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
