// The gRPC clients of the REST facade.
import type { ApiKeyServiceDefinition } from '../../generated/accounts/v1/ApiKeyService.ts';
import type { MaterialServiceDefinition } from '../../generated/scheduling/v1/MaterialService.ts';
import type { ReviewServiceDefinition } from '../../generated/scheduling/v1/ReviewService.ts';
import type { SnoozeServiceDefinition } from '../../generated/scheduling/v1/SnoozeService.ts';
import { createGrpcClient, type GrpcClient } from '../platform/grpc/client.ts';
import { createTokenWatch } from '../platform/grpc/service-token.ts';
import type { Logger } from '../platform/logging/logger.ts';
import { NO_TELEMETRY, type Telemetry } from '../platform/observability/telemetry.ts';
import { loadProto, serviceDefinition } from '../platform/protobuf/load.ts';
import type { RestConfig } from './config.ts';

export type Clients = {
  materials: GrpcClient<MaterialServiceDefinition>;
  reviews: GrpcClient<ReviewServiceDefinition>;
  snoozes: GrpcClient<SnoozeServiceDefinition>;
  apiKeys: GrpcClient<ApiKeyServiceDefinition, 'WatchRevocations'>;
  close(): void;
};

/** Shorter than HTTP clients' time-outs, longer than the services' statement time-outs. */
export const DEADLINE_MS = 2500;

export function createClients(
  { schedulingTarget, accountsTarget, trust }: RestConfig,
  telemetry: Telemetry = NO_TELEMETRY,
  logger?: Logger,
): Clients {
  const scheduling = loadProto('scheduling/v1');
  const accounts = loadProto('accounts/v1');
  const common = { trust, caller: 'rest', deadlineMs: DEADLINE_MS, telemetry };
  const toScheduling = {
    ...common,
    target: schedulingTarget,
    tokenWatch: createTokenWatch('scheduling', logger),
  };
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
    { ...common, target: accountsTarget, tokenWatch: createTokenWatch('accounts', logger) },
  );
  const close = () => {
    for (const client of [materials, reviews, snoozes, apiKeys]) client.close();
  };
  return { materials, reviews, snoozes, apiKeys, close };
}
