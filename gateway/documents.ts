// Turns a body into a valid document. Parsing and validation block the event loop, so each caller has one document in them at a time,
// pauses after it for as long as it took, and yields to other work in between.
import { hash } from 'node:crypto';
import { setImmediate as others } from 'node:timers/promises';
import type { ApolloServerOptions } from '@apollo/server';
import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  parse,
  type SelectionSetNode,
  specifiedRules,
  validate,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { createFairQueue } from '../services/platform/concurrency.ts';
import { invalidField, invalidRequest } from '../services/platform/errors.ts';
import { isObject } from '../services/platform/text.ts';

/** Documented in docs/gateway.md. */
export const DOCUMENT_LIMITS = {
  /** Long texts belong in variables. */
  bytes: 20_000,
  tokens: 1000,
  depth: 16,
  aliases: 30,
  aliasCharacters: 64,
  /** Validation errors that are reported. */
  errors: 5,
  /** Estimated size of the cache of valid documents. */
  keptBytes: 16 * 1024 * 1024,
} as const;

/** Measured: at most 510 bytes. */
const BYTES_OF_TOKEN = 600;

type GraphqlBody = { query: string; operationName: string | undefined };
export type DocumentStore = NonNullable<ApolloServerOptions<never>['documentStore']>;
type Prepared = {
  /** Of the document if it can be parsed. */
  operations: readonly OperationDefinitionNode[];
  /** Empty for a valid document. */
  errors: readonly GraphQLError[];
};

export function createDocuments(schema: GraphQLSchema) {
  const turns = createFairQueue(1);
  const valid = new LRUCache<string, DocumentNode>({
    maxSize: DOCUMENT_LIMITS.keptBytes,
    sizeCalculation: ({ tokenCount = DOCUMENT_LIMITS.tokens, loc }) =>
      BYTES_OF_TOKEN * tokenCount + 12 * (loc?.source.body.length ?? DOCUMENT_LIMITS.bytes),
  });
  const check = async (query: string): Promise<Prepared> => {
    await others();
    let document: DocumentNode;
    try {
      document = parse(query, { maxTokens: DOCUMENT_LIMITS.tokens });
    } catch (error) {
      if (error instanceof GraphQLError) return { operations: [], errors: [error] };
      throw error;
    }
    const operations = operationsOf(document);
    const excess = excessOf(document);
    if (excess !== undefined) return { operations, errors: [new GraphQLError(excess)] };
    await others();
    const errors = validate(schema, document, specifiedRules, { maxErrors: DOCUMENT_LIMITS.errors });
    if (errors.length === 0) valid.set(hash('sha256', query), document);
    return { operations, errors };
  };
  const keyOf = (key: string) => key.slice(key.lastIndexOf(':') + 1);
  const store: DocumentStore = {
    // Apollo's keys are the schema's hash and the document's.
    get: async (key) => valid.get(keyOf(key)),
    set: async (key, document) => void valid.set(keyOf(key), document),
    delete: async (key) => valid.delete(keyOf(key)),
  };
  return {
    /** Apollo's: it neither parses nor validates what stands in it. */
    store,
    /** @throws UNAVAILABLE where `end` aborts before the caller's turn. */
    async prepare(caller: string, query: string, end: () => AbortSignal): Promise<Prepared> {
      const known = valid.get(hash('sha256', query));
      if (known !== undefined) return { operations: operationsOf(known), errors: [] };
      return turns.run(caller, end(), () => check(query));
    },
  };
}

const operationsOf = ({ definitions }: DocumentNode) =>
  definitions.filter((each) => each.kind === Kind.OPERATION_DEFINITION);

/** The message about the limit that a document exceeds; undefined if it exceeds none. Linear: each fragment is measured once. */
function excessOf({ definitions }: DocumentNode): string | undefined {
  const fragments = new Map(
    definitions.flatMap((each) => (each.kind === Kind.FRAGMENT_DEFINITION ? [[each.name.value, each]] : [])),
  );
  const depths = new Map<string, number>();
  let aliases = 0;
  let hasBadAlias = false;
  let asksForSchema = false;
  const depthOfFragment = (name: string): number => {
    const known = depths.get(name);
    if (known !== undefined) return known;
    // A fragment within itself counts as infinitely deep. Validation reports an unknown one.
    depths.set(name, Number.POSITIVE_INFINITY);
    const fragment = fragments.get(name);
    const depth = fragment === undefined ? 0 : depthOf(fragment.selectionSet);
    depths.set(name, depth);
    return depth;
  };
  const depthOf = ({ selections }: SelectionSetNode): number => {
    let deepest = 0;
    for (const each of selections) {
      if (each.kind === Kind.FRAGMENT_SPREAD) {
        deepest = Math.max(deepest, depthOfFragment(each.name.value));
        continue;
      }
      if (each.kind === Kind.FIELD && /^__(schema|type)$/.test(each.name.value)) asksForSchema = true;
      if (each.kind === Kind.FIELD && each.alias !== undefined) {
        aliases += 1;
        const { value } = each.alias;
        // The answer repeats it in every row.
        if (value.startsWith('__') || value.length > DOCUMENT_LIMITS.aliasCharacters) hasBadAlias = true;
      }
      const below = each.selectionSet === undefined ? 0 : depthOf(each.selectionSet);
      deepest = Math.max(deepest, below + (each.kind === Kind.FIELD ? 1 : 0));
    }
    return deepest;
  };
  const { depth, aliases: mostAliases } = DOCUMENT_LIMITS;
  for (const each of definitions) {
    if (each.kind === Kind.OPERATION_DEFINITION && depthOf(each.selectionSet) > depth)
      return `The document is more than ${depth} levels deep.`;
    if (each.kind === Kind.FRAGMENT_DEFINITION) depthOfFragment(each.name.value);
  }
  if (hasBadAlias)
    return `An alias may have at most ${DOCUMENT_LIMITS.aliasCharacters} characters and not begin with __.`;
  // The budget does not count the fields of the schema, so it may be answered only once.
  if (asksForSchema && aliases > 0) return 'Aliases are not allowed beside __schema and __type.';
  return aliases > mostAliases ? `At most ${mostAliases} aliases are allowed.` : undefined;
}

/** The operation to execute, of those that the request means. @throws INVALID_REQUEST if it is ambiguous or missing. */
export function selectOperation(candidates: readonly OperationDefinitionNode[]): OperationDefinitionNode {
  const [operation] = candidates;
  if (operation?.operation === 'subscription')
    throw invalidRequest('query', 'There are no subscriptions here.');
  if (operation !== undefined && candidates.length === 1) return operation;
  throw invalidField('operationName', 'must name one operation of the document.');
}

/** @throws INVALID_REQUEST for what is no GraphQL request. */
export function readBody(body: unknown): GraphqlBody {
  if (!isObject(body)) {
    throw invalidRequest('body', 'The body must be one JSON object with a query; batches are not accepted.');
  }
  const { query, operationName = null, variables = null, extensions = null } = body;
  if (typeof query !== 'string') throw invalidField('query', 'must be a GraphQL document.');
  // Half of a surrogate pair hashes as another document, since the hash is over UTF-8.
  if (!query.isWellFormed()) throw invalidRequest('query', 'The document holds half of a surrogate pair.');
  if (query.length > DOCUMENT_LIMITS.bytes || Buffer.byteLength(query) > DOCUMENT_LIMITS.bytes) {
    const message = `At most ${DOCUMENT_LIMITS.bytes} bytes are allowed: send long texts as variables.`;
    throw invalidRequest('query', message);
  }
  if (operationName !== null && typeof operationName !== 'string')
    throw invalidField('operationName', 'must be a string.');
  if (variables !== null && !isObject(variables)) throw invalidField('variables', 'must be one JSON object.');
  if (extensions !== null && !isObject(extensions))
    throw invalidField('extensions', 'must be one JSON object.');
  return { query, operationName: operationName ?? undefined };
}
