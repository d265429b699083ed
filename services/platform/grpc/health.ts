// Asks another service for its health (grpc.health.v1).
import type { MethodDefinition } from '@grpc/proto-loader';
import { service as untypedDefinition } from 'grpc-health-check';
import type { GrpcTrust } from '../process/common-config.ts';
import { createGrpcClient } from './client.ts';
import { NO_TOKEN } from './service-token.ts';

/** grpc.health.v1.Health; the package has no types for it. */
type HealthDefinition = { Check: MethodDefinition<{ service: string }, { status: string }> };
const definition = untypedDefinition as unknown as HealthDefinition;

type HealthClient = {
  /** @throws ServiceError UNAVAILABLE if the service does not respond in time; TokenRefusedError if it rejects our token. */
  isServing(): Promise<boolean>;
  close(): void;
};

export function createHealthClient(options: {
  target: string;
  trust: GrpcTrust;
  deadlineMs: number;
}): HealthClient {
  const { serviceTokens } = options.trust;
  // Health checks only tokens that are sent, so a program without one sends a wrong one to find out if one is needed.
  const trust = { ...options.trust, serviceTokens: serviceTokens.length > 0 ? serviceTokens : [NO_TOKEN] };
  const client = createGrpcClient(definition, { ...options, trust, caller: 'health' });
  return {
    async isServing() {
      const { status } = await client.check({ service: '' }, { requestId: 'health' });
      return status === 'SERVING';
    },
    close: () => client.close(),
  };
}
