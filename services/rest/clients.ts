// The gRPC clients that the facade composes.
import type { ApiKeyServiceDefinition } from '../../generated/accounts/v1/ApiKeyService.ts';
import type { MaterialServiceDefinition } from '../../generated/scheduling/v1/MaterialService.ts';
import type { ReviewServiceDefinition } from '../../generated/scheduling/v1/ReviewService.ts';
import type { SnoozeServiceDefinition } from '../../generated/scheduling/v1/SnoozeService.ts';
import { createGrpcClient, type GrpcClient } from '../platform/grpc-client.ts';
import { NO_TELEMETRY, type Telemetry } from '../platform/ops/telemetry.ts';
import { loadProto, serviceDefinition } from '../platform/proto.ts';
import type { RestConfig } from './config.ts';

export type Clients = {
  materials: GrpcClient<MaterialServiceDefinition>;
  reviews: GrpcClient<ReviewServiceDefinition>;
  snoozes: GrpcClient<SnoozeServiceDefinition>;
  apiKeys: GrpcClient<ApiKeyServiceDefinition, 'WatchRevocations'>;
  close(): void;
};

/** Shorter than any HTTP client waits, longer than the services' statements may take. */
const DEADLINE_MS = 2500;

export function createClients(
  { schedulingTarget, accountsTarget, trust }: RestConfig,
  telemetry: Telemetry = NO_TELEMETRY,
): Clients {
  const scheduling = loadProto('scheduling/v1/scheduling.proto');
  const accounts = loadProto('accounts/v1/accounts.proto');
  const common = { trust, caller: 'rest', deadlineMs: DEADLINE_MS, telemetry };
  const toScheduling = { ...common, target: schedulingTarget };
  const materials = createGrpcClient(
    serviceDefinition<MaterialServiceDefinition>(scheduling, 'scheduling.v1.MaterialService'),
    toScheduling,
  );
  const reviews = createGrpcClient(
    serviceDefinition<ReviewServiceDefinition>(scheduling, 'scheduling.v1.ReviewService'),
    toScheduling,
  );
  const snoozes = createGrpcClient(
    serviceDefinition<SnoozeServiceDefinition>(scheduling, 'scheduling.v1.SnoozeService'),
    toScheduling,
  );
  const apiKeys = createGrpcClient<ApiKeyServiceDefinition, 'WatchRevocations'>(
    serviceDefinition<ApiKeyServiceDefinition>(accounts, 'accounts.v1.ApiKeyService'),
    { ...common, target: accountsTarget },
  );
  const close = () => {
    for (const client of [materials, reviews, snoozes, apiKeys]) client.close();
  };
  return { materials, reviews, snoozes, apiKeys, close };
}
