// Measures GraphQL operations by type and outcome.
import type { ApolloServerPlugin } from '@apollo/server';
import { unwrapResolverError } from '@apollo/server/errors';
import { GraphQLError } from 'graphql';
import { toServiceError } from '../../services/platform/errors.ts';
import type { Metrics } from '../../services/platform/observability/metrics.ts';
import type { GatewayContext } from './context.ts';

export function measureOperations(metrics: Metrics): ApolloServerPlugin<GatewayContext> {
  if (!metrics.isOn) return {};
  return {
    async requestDidStart() {
      const stop = metrics.time('srs_graphql_operation_duration_seconds');
      return {
        async willSendResponse({ operation, errors = [] }) {
          const outcome = errors.length === 0 ? 'ok' : errors.some(isFault) ? 'failed' : 'refused';
          stop({ type: operation?.operation ?? 'invalid', outcome });
        },
      };
    },
  };
}

/** Whether the error is our fault; errors of GraphQL itself and validation errors of services are the caller's. */
function isFault(error: GraphQLError): boolean {
  const thrown = unwrapResolverError(error);
  if (thrown instanceof GraphQLError) return thrown.extensions.code === 'INTERNAL_SERVER_ERROR';
  return ['INTERNAL_ERROR', 'UNAVAILABLE'].includes(toServiceError(thrown).reason);
}
