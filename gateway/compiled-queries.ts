// Runs queries that come again as code compiled for them: a page of 50 materials with their reviews is 650 fields, and to look
// each of them up in schema and document is most of what it costs to answer.
import { type ApolloServerPlugin, type GraphQLRequestContext, HeaderMap } from '@apollo/server';
import {
  type DocumentNode,
  type ExecutionResult,
  type FormattedExecutionResult,
  type GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
  getVariableValues,
  OperationTypeNode,
} from 'graphql';
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit';
import { LRUCache } from 'lru-cache';
import type { Logger } from '../services/platform/logger.ts';
import type { GatewayContext } from './context.ts';
import { formatError, logFaultsOf } from './errors.ts';

/** Tools and dashboards ask the same few, with other variables. */
const MAX_QUERIES = 200;

/**
 * Answers in Apollo's place, once it has parsed and validated. What comes for the first time, and all but queries, is left to
 * graphql-js, so that nobody can make us compile by asking for something else each time; its answers are the same.
 */
export function runCompiled(schema: GraphQLSchema, logger: Logger): ApolloServerPlugin<GatewayContext> {
  const known = new LRUCache<string, CompiledQuery | 'seen' | 'not to be compiled'>({ max: MAX_QUERIES });

  const findCompiled = (key: string, document: DocumentNode, operationName: string | undefined) => {
    const found = known.get(key);
    if (found === undefined) known.set(key, 'seen');
    if (found !== 'seen') return typeof found === 'object' ? found : undefined;
    // The option is its right way with @skip and @include on what a fragment spreads.
    const compiled = compileQuery(schema, document, operationName, {
      useExperimentalPathBasedSkipInclude: true,
    });
    known.set(key, isCompiledQuery(compiled) ? compiled : 'not to be compiled');
    return isCompiledQuery(compiled) ? compiled : undefined;
  };

  return {
    async requestDidStart() {
      return {
        async responseForOperation(requestContext) {
          const { document, operation, operationName, queryHash, request, contextValue } = requestContext;
          if (operation?.operation !== OperationTypeNode.QUERY) return null;
          const compiled = findCompiled(
            `${queryHash} ${operationName ?? ''}`,
            document,
            operationName ?? undefined,
          );
          if (compiled === undefined) return null;
          const variables = request.variables ?? {};
          // What is wrong with a variable is said in one way, by graphql-js.
          const { errors } = getVariableValues(schema, operation.variableDefinitions ?? [], variables);
          if (errors !== undefined) return null;
          const result: ExecutionResult = await compiled.query(undefined, contextValue, variables);
          const { data } = result;
          const singleResult = result.errors
            ? withErrors(requestContext, result, logger)
            : { data: data ?? null };
          return {
            http: { headers: new HeaderMap() },
            body: { kind: 'single', singleResult },
          };
        },
      };
    },
  };
}

type RunningContext = GraphQLRequestContext<GatewayContext>;

/** Does with errors what Apollo does with those of graphql-js: tells the other plugins, logs, and formats. */
function withErrors(
  requestContext: RunningContext,
  { data, errors = [] }: ExecutionResult,
  logger: Logger,
): FormattedExecutionResult {
  Object.assign(requestContext, { errors });
  logFaultsOf(logger, errors, requestContext.contextValue.call.requestId);
  return { errors: errors.map((error) => formatError(enriched(error), error)), data: data ?? null };
}

/** As Apollo hands it to `formatError`: an error without a code is a fault of ours. */
function enriched(error: GraphQLError): GraphQLFormattedError {
  const { message, locations, path, extensions } = error;
  return {
    message,
    ...(locations && { locations }),
    ...(path && { path }),
    extensions: { code: 'INTERNAL_SERVER_ERROR', ...extensions },
  };
}
