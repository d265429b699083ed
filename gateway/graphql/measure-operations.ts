// Measures GraphQL operations by type and outcome.
import type { ApolloServerPlugin } from '@apollo/server';
import type { Metrics } from '../../services/platform/observability/metrics.ts';
import type { GatewayContext } from './context.ts';
import { refusalOf } from './errors.ts';

export function measureOperations(metrics: Metrics): ApolloServerPlugin<GatewayContext> {
  return {
    async requestDidStart() {
      const stop = metrics.time('srs_graphql_operation_duration_seconds');
      return {
        async willSendResponse({ operation, response: { body } }) {
          const { errors = [] } = body.kind === 'single' ? body.singleResult : {};
          const reasons = errors.map((error) => refusalOf(error).reason);
          const isFault = reasons.includes('INTERNAL_ERROR') || reasons.includes('UNAVAILABLE');
          const outcome = isFault ? 'failed' : errors.length > 0 ? 'refused' : 'ok';
          stop({ type: operation?.operation ?? 'invalid', outcome });
        },
      };
    },
  };
}
