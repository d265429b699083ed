// Looks at a request before anything is done for it: is it one operation, and within the limits? What does it change?
import { type GraphQLSchema, Kind, type OperationDefinitionNode, visit } from 'graphql';
import { invalidField, ServiceError } from '../../services/platform/errors.ts';
import { refuseDocument } from '../errors.ts';
import { parseWithin, type SplitDocument, selectOperation, splitDocument, withDefaults } from './document.ts';
import { type MeasureInput, measure } from './measure.ts';
import { type RequestedMutation, requestedMutations } from './requested-mutations.ts';

export const LIMITS = {
  bodyBytes: 100 * 1024,
  tokens: 2000,
  aliases: 30,
  directives: 50,
  fragments: 50,
  /** Reported of one document: finding the line of each costs a walk through its text. */
  errors: 5,
  depth: 12,
  /** Tools ask for types of types. */
  introspectionDepth: 20,
  cost: 20_000,
  mutations: 10,
} as const;

export type Inspected = {
  isMutation: boolean;
  mutations: readonly RequestedMutation[];
  /** Names of all fields of the document, in whichever of its operations and fragments. */
  fields: ReadonlySet<string>;
  refusal: ServiceError | undefined;
};

/** `body` as it was sent. A refusal is returned and not thrown, so that what was asked for can still be told. */
export function inspect(schema: GraphQLSchema, body: unknown): Inspected {
  const inspected: Inspected = { isMutation: false, mutations: [], fields: new Set(), refusal: undefined };
  try {
    const { query, operationName, variables } = readBody(body);
    const document = splitDocument(parseWithin(query, LIMITS.tokens));
    const inputOf = (operation: OperationDefinitionNode): MeasureInput => ({
      schema,
      operation,
      fragments: document.fragments,
      variables: withDefaults(operation, variables),
    });
    const mutationsOf = (operation: OperationDefinitionNode) =>
      operation.operation === 'mutation' ? requestedMutations(inputOf(operation)) : [];
    // Where none can be chosen, each of them was asked for.
    inspected.mutations = document.operations.flatMap(mutationsOf);
    const operation = selectOperation(document.operations, operationName);
    inspected.isMutation = operation.operation === 'mutation';
    inspected.mutations = mutationsOf(operation);
    requireFewMutations(inspected.mutations);
    inspected.fields = requireFewParts(document);
    // All of them, though one is run: validation goes through the whole document.
    for (const each of document.operations) requireWithinLimits(inputOf(each));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    inspected.refusal = error;
  }
  return inspected;
}

function readBody(body: unknown) {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalidField('body', 'The body must be one JSON object with a query; batches are not taken.');
  }
  const { query, operationName, variables } = body as Record<string, unknown>;
  if (typeof query !== 'string') throw invalidField('query', 'query must be a GraphQL document.');
  const isObject = typeof variables === 'object' && variables !== null && !Array.isArray(variables);
  return {
    query,
    operationName: typeof operationName === 'string' ? operationName : undefined,
    // Checked to be one just now.
    variables: isObject ? (variables as Record<string, unknown>) : {},
  };
}

/** Counts what may be many, and on the way gathers the names of the fields. */
function requireFewParts({ document, fragments }: SplitDocument): Set<string> {
  let [aliases, directives] = [0, 0];
  const fields = new Set<string>();
  visit(document, {
    Field: ({ name, alias }) => {
      fields.add(name.value);
      if (alias !== undefined) aliases += 1;
    },
    Directive: () => {
      directives += 1;
    },
  });
  if (aliases > LIMITS.aliases) throw refuseDocument(`At most ${LIMITS.aliases} aliases are allowed.`);
  if (directives > LIMITS.directives)
    throw refuseDocument(`At most ${LIMITS.directives} directives are allowed.`);
  if (fragments.size > LIMITS.fragments)
    throw refuseDocument(`At most ${LIMITS.fragments} fragments are allowed.`);
  return fields;
}

function requireWithinLimits(input: MeasureInput): void {
  const { operation } = input;
  const { cost, depth } = measure(input);
  const maxDepth = isIntrospection(operation) ? LIMITS.introspectionDepth : LIMITS.depth;
  if (depth > maxDepth)
    throw refuseDocument(`The document is ${depth} levels deep; at most ${maxDepth} are allowed.`);
  if (cost > LIMITS.cost) {
    const times = (cost / LIMITS.cost).toPrecision(2);
    throw refuseDocument(
      `The query costs ${times} times what is allowed: ask for fewer fields or smaller pages.`,
    );
  }
}

function isIntrospection({ selectionSet }: OperationDefinitionNode): boolean {
  return selectionSet.selections.every(
    (selection) => selection.kind === Kind.FIELD && selection.name.value.startsWith('__'),
  );
}

function requireFewMutations({ length }: readonly RequestedMutation[]): void {
  if (length <= LIMITS.mutations) return;
  throw refuseDocument(`At most ${LIMITS.mutations} mutations are allowed in one request.`);
}
