// Runs queries that come again as code compiled for them: a page of 50 materials with their reviews is 650 fields, and to look
// each of them up in schema and document is most of what it costs to answer.
import type { ApolloServerOptionsWithGateway } from '@apollo/server';
import {
  type DocumentNode,
  type ExecutionResult,
  execute,
  type GraphQLError,
  type GraphQLSchema,
  getVariableValues,
  OperationTypeNode,
} from 'graphql';
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit';
import { LRUCache } from 'lru-cache';
import type { GatewayContext } from './context.ts';

/** Tools and dashboards ask the same few, with other variables. */
const MAX_QUERIES = 200;

type Execution = ApolloServerOptionsWithGateway<GatewayContext>['gateway'];
type Asked = { document: DocumentNode; operationName: string | undefined };

/**
 * What Apollo runs validated documents with. What comes for the first time, and all but queries, is run by graphql-js, so
 * that nobody can make us compile by asking for something else each time; its answers are the same.
 */
export function compiledExecution(
  schema: GraphQLSchema,
  { maxCoercionErrors }: { maxCoercionErrors: number },
): Execution {
  const known = new LRUCache<string, CompiledQuery | 'seen' | 'not to be compiled'>({ max: MAX_QUERIES });

  const findCompiled = (key: string, { document, operationName }: Asked): CompiledQuery | undefined => {
    const found = known.get(key);
    if (found === undefined) known.set(key, 'seen');
    if (found !== 'seen') return typeof found === 'object' ? found : undefined;
    const compiled = compileQuery(schema, document, operationName, {
      useExperimentalPathBasedSkipInclude: true,
    });
    known.set(key, isCompiledQuery(compiled) ? compiled : 'not to be compiled');
    return isCompiledQuery(compiled) ? compiled : undefined;
  };

  const hasGoodVariables = (definitions: Parameters<typeof getVariableValues>[1], values: object) =>
    getVariableValues(schema, definitions, { ...values }).errors === undefined;

  return {
    onSchemaLoadOrUpdate(use) {
      use({ apiSchema: schema, coreSupergraphSdl: '' });
      return () => {};
    },
    load: async () => ({
      executor: async ({ document, operation, operationName, queryHash, request, context }) => {
        const asked = { document, operationName: operationName ?? undefined };
        const variables = request.variables ?? {};
        const compiled =
          operation.operation === OperationTypeNode.QUERY
            ? findCompiled(`${queryHash} ${operationName ?? ''}`, asked)
            : undefined;
        // What is wrong with a variable is said in one way.
        if (compiled !== undefined && hasGoodVariables(operation.variableDefinitions ?? [], variables))
          return withExtensions(await compiled.query(undefined, context, variables));
        return execute({
          schema,
          document,
          operationName,
          contextValue: context,
          variableValues: variables,
          options: { maxCoercionErrors },
        });
      },
    }),
    stop: async () => {},
  };
}

/** Apollo asks the extensions of every error for its code; those of graphql-jit have none where nothing is in them. */
function withExtensions(result: ExecutionResult): ExecutionResult {
  if (result.errors === undefined) return result;
  const errors = result.errors.map(
    (error): GraphQLError => Object.create(error, { extensions: { value: error.extensions ?? {} } }),
  );
  return { ...result, errors };
}
