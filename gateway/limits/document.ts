// A document in its parts: its operations, the one that would be run, its fragments, and what its variables will be.
import {
  type DocumentNode,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  parse,
  valueFromASTUntyped,
} from 'graphql';
import { invalidField } from '../../services/platform/errors.ts';
import { refuseDocument } from '../errors.ts';

/** @throws INVALID_REQUEST with what is wrong and where. */
export function parseWithin(query: string, maxTokens: number): DocumentNode {
  try {
    return parse(query, { maxTokens });
  } catch (error) {
    throw refuseDocument(error instanceof Error ? error.message : 'The document cannot be read.');
  }
}

export type SplitDocument = {
  document: DocumentNode;
  operations: OperationDefinitionNode[];
  fragments: ReadonlyMap<string, FragmentDefinitionNode>;
};

export function splitDocument(document: DocumentNode): SplitDocument {
  const fragments = document.definitions.filter(
    (definition): definition is FragmentDefinitionNode => definition.kind === Kind.FRAGMENT_DEFINITION,
  );
  const operations = document.definitions.filter(
    (definition): definition is OperationDefinitionNode => definition.kind === Kind.OPERATION_DEFINITION,
  );
  return { document, operations, fragments: new Map(fragments.map((each) => [each.name.value, each])) };
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
  const variables: Record<string, unknown> = {};
  for (const { variable, defaultValue } of variableDefinitions) {
    const name = variable.name.value;
    if (Object.hasOwn(given, name) && given[name] !== undefined) variables[name] = given[name];
    else if (defaultValue !== undefined) variables[name] = valueFromASTUntyped(defaultValue);
  }
  return variables;
}
