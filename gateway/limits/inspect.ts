// Inspects a request before execution: one operation, within the limits, and which mutations it contains.
import { type GraphQLSchema, Kind, type OperationDefinitionNode } from 'graphql';
import { invalidField, invalidRequest, ServiceError } from '../../services/platform/errors.ts';
import { requireFewParts, selectOperation, withDefaults } from './document.ts';
import type { KnownDocuments } from './known-documents.ts';
import { LIMITS } from './limits.ts';
import { type Measure, type MeasureInput, measure } from './measure.ts';
import { type RequestedMutation, requestedMutations } from './requested-mutations.ts';

export type Inspected = {
  isMutation: boolean;
  mutations: readonly RequestedMutation[];
  /** Names of all fields in all operations and fragments. */
  fields: ReadonlySet<string>;
  measured: Measure;
  refusal: ServiceError | undefined;
};

/** `body` is the parsed request. Returns a refusal instead of throwing it, so that the audit can still name the mutations. */
export function inspect(schema: GraphQLSchema, documents: KnownDocuments, body: unknown): Inspected {
  const measured = { cost: 0, depth: 0, rpcs: 0 };
  const inspected: Inspected = {
    isMutation: false,
    mutations: [],
    fields: new Set(),
    measured,
    refusal: undefined,
  };
  try {
    const { query, operationName, variables } = readBody(body);
    const document = documents.read(query);
    const { operations, fragments, fields } = document;
    const inputOf = (operation: OperationDefinitionNode): MeasureInput => ({
      schema,
      operation,
      fragments,
      variables: withDefaults(operation, variables),
    });
    const mutationsOf = (operation: OperationDefinitionNode) =>
      operation.operation === 'mutation' ? requestedMutations(inputOf(operation), LIMITS.mutations) : NONE;
    // If no operation can be selected, the mutations of all of them count as requested.
    inspected.mutations = firstOf(operations, (each) => mutationsOf(each).first, LIMITS.mutations);
    inspected.fields = fields;
    const operation = selectOperation(operations, operationName);
    inspected.isMutation = operation.operation === 'mutation';
    const { first, areMore } = mutationsOf(operation);
    inspected.mutations = first;
    if (areMore)
      throw invalidRequest('query', `At most ${LIMITS.mutations} mutations are allowed in one request.`);
    if (!document.isValid) requireFewParts(document);
    inspected.measured = measure(inputOf(operation));
    requireWithinLimits(operation, inspected.measured);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    inspected.refusal = error;
  }
  return inspected;
}

const NONE = { first: [], areMore: false };

function firstOf<T, R>(items: readonly T[], resultsOf: (item: T) => readonly R[], max: number): R[] {
  const results: R[] = [];
  for (const item of items) {
    if (results.length >= max) break;
    results.push(...resultsOf(item));
  }
  return results.slice(0, max);
}

function readBody(body: unknown) {
  if (!isObject(body)) {
    throw invalidRequest('body', 'The body must be one JSON object with a query; batches are not accepted.');
  }
  const { query, operationName = null, variables = null, extensions = null } = body;
  if (typeof query !== 'string') throw invalidField('query', 'must be a GraphQL document.');
  if (operationName !== null && typeof operationName !== 'string')
    throw invalidField('operationName', 'must be a string.');
  if (variables !== null && !isObject(variables)) throw invalidField('variables', 'must be one JSON object.');
  if (extensions !== null && !isObject(extensions))
    throw invalidField('extensions', 'must be one JSON object.');
  return { query, operationName: operationName ?? undefined, variables: variables ?? {} };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function requireWithinLimits(operation: OperationDefinitionNode, { cost, depth, rpcs }: Measure): void {
  const maxDepth = isIntrospection(operation) ? LIMITS.introspectionDepth : LIMITS.depth;
  if (depth > maxDepth)
    throw invalidRequest('query', `The document is ${depth} levels deep; at most ${maxDepth} are allowed.`);
  if (cost > LIMITS.cost) {
    const times = (cost / LIMITS.cost).toPrecision(2);
    throw invalidRequest(
      'query',
      `The query costs ${times} times what is allowed: ask for fewer fields or smaller pages.`,
    );
  }
  if (rpcs > LIMITS.rpcs) {
    throw invalidRequest(
      'query',
      `The query may take ${rpcs} calls to the services; at most ${LIMITS.rpcs} are allowed: ask for smaller pages.`,
    );
  }
}

function isIntrospection({ selectionSet }: OperationDefinitionNode): boolean {
  return selectionSet.selections.every(
    (selection) => selection.kind === Kind.FIELD && selection.name.value.startsWith('__'),
  );
}
