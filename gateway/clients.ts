// The gRPC clients that the gateway composes.
import type { ApiKeyServiceDefinition } from '../generated/accounts/v1/ApiKeyService.ts';
import type { UserServiceDefinition } from '../generated/accounts/v1/UserService.ts';
import type { MaterialServiceDefinition } from '../generated/scheduling/v1/MaterialService.ts';
import type { ReviewServiceDefinition } from '../generated/scheduling/v1/ReviewService.ts';
import type { SnoozeServiceDefinition } from '../generated/scheduling/v1/SnoozeService.ts';
import type { StatsServiceDefinition } from '../generated/scheduling/v1/StatsService.ts';
import type { UserDataServiceDefinition } from '../generated/scheduling/v1/UserDataService.ts';
import type { GrpcTrust } from '../services/platform/common-config.ts';
import { createGrpcClient, type GrpcClient } from '../services/platform/grpc-client.ts';
import { NO_TELEMETRY, type Telemetry } from '../services/platform/ops/telemetry.ts';
import { loadProto, serviceDefinition } from '../services/platform/proto.ts';
import { LIMITS } from './limits/limits.ts';

export type Clients = {
  users: GrpcClient<UserServiceDefinition>;
  apiKeys: GrpcClient<ApiKeyServiceDefinition, 'WatchRevocations'>;
  materials: GrpcClient<MaterialServiceDefinition>;
  reviews: GrpcClient<ReviewServiceDefinition>;
  snoozes: GrpcClient<SnoozeServiceDefinition>;
  stats: GrpcClient<StatsServiceDefinition>;
  userData: GrpcClient<UserDataServiceDefinition, 'ExportUserData'>;
};

/** Longer than a service's statements may take. */
const DEADLINE_MS = 5000;

export function createClients(
  config: { schedulingTarget: string; accountsTarget: string; trust: GrpcTrust },
  telemetry: Telemetry = NO_TELEMETRY,
): Clients {
  const scheduling = loadProto('scheduling/v1/scheduling.proto');
  const accounts = loadProto('accounts/v1/accounts.proto');
  const common = {
    trust: config.trust,
    caller: 'gateway',
    deadlineMs: DEADLINE_MS,
    maxMessageBytes: LIMITS.answerBytes,
    telemetry,
  };
  const toScheduling = { ...common, target: config.schedulingTarget };
  const toAccounts = { ...common, target: config.accountsTarget };
  return {
    users: createGrpcClient(
      serviceDefinition<UserServiceDefinition>(accounts, 'accounts.v1.UserService'),
      toAccounts,
    ),
    apiKeys: createGrpcClient<ApiKeyServiceDefinition, 'WatchRevocations'>(
      serviceDefinition<ApiKeyServiceDefinition>(accounts, 'accounts.v1.ApiKeyService'),
      toAccounts,
    ),
    materials: createGrpcClient(
      serviceDefinition<MaterialServiceDefinition>(scheduling, 'scheduling.v1.MaterialService'),
      toScheduling,
    ),
    reviews: createGrpcClient(
      serviceDefinition<ReviewServiceDefinition>(scheduling, 'scheduling.v1.ReviewService'),
      toScheduling,
    ),
    snoozes: createGrpcClient(
      serviceDefinition<SnoozeServiceDefinition>(scheduling, 'scheduling.v1.SnoozeService'),
      toScheduling,
    ),
    stats: createGrpcClient(
      serviceDefinition<StatsServiceDefinition>(scheduling, 'scheduling.v1.StatsService'),
      toScheduling,
    ),
    userData: createGrpcClient<UserDataServiceDefinition, 'ExportUserData'>(
      serviceDefinition<UserDataServiceDefinition>(scheduling, 'scheduling.v1.UserDataService'),
      toScheduling,
    ),
  };
}

export function closeClients(clients: Clients): void {
  for (const client of Object.values(clients)) client.close();
}
