// Asks another service for its health (grpc.health.v1).
import type { MethodDefinition } from '@grpc/proto-loader';
import { service as untypedDefinition } from 'grpc-health-check';
import type { GrpcTrust } from './common-config.ts';
import { createGrpcClient } from './grpc-client.ts';

/** grpc.health.v1.Health, of which the package tells no types. */
type HealthDefinition = { Check: MethodDefinition<{ service: string }, { status: string }> };
const definition = untypedDefinition as unknown as HealthDefinition;

export type HealthClient = {
  /** @throws ServiceError UNAVAILABLE where the service does not answer in time. */
  isServing(): Promise<boolean>;
  close(): void;
};

export function createHealthClient(options: {
  target: string;
  trust: GrpcTrust;
  deadlineMs: number;
}): HealthClient {
  const client = createGrpcClient(definition, { ...options, caller: 'health' });
  return {
    async isServing() {
      const { status } = await client.check({ service: '' }, { requestId: 'health' });
      return status === 'SERVING';
    },
    close: () => client.close(),
  };
}
