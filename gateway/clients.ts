// The gRPC clients of the gateway.
import type { ApiKeyServiceDefinition } from '../generated/accounts/v1/ApiKeyService.ts';
import type { UserServiceDefinition } from '../generated/accounts/v1/UserService.ts';
import type { ReminderServiceDefinition } from '../generated/reminders/v1/ReminderService.ts';
import type { MaterialServiceDefinition } from '../generated/scheduling/v1/MaterialService.ts';
import type { ReviewServiceDefinition } from '../generated/scheduling/v1/ReviewService.ts';
import type { SnoozeServiceDefinition } from '../generated/scheduling/v1/SnoozeService.ts';
import type { StatsServiceDefinition } from '../generated/scheduling/v1/StatsService.ts';
import type { UserDataServiceDefinition } from '../generated/scheduling/v1/UserDataService.ts';
import { ServiceError } from '../services/platform/errors.ts';
import { createGrpcClient, type GrpcClient } from '../services/platform/grpc/client.ts';
import { createTokenWatch } from '../services/platform/grpc/service-token.ts';
import type { Logger } from '../services/platform/logging/logger.ts';
import { NO_TELEMETRY, type Telemetry } from '../services/platform/observability/telemetry.ts';
import type { GrpcTrust } from '../services/platform/process/common-config.ts';
import { loadProto, serviceDefinition } from '../services/platform/protobuf/load.ts';
import { LIMITS } from './limits/limits.ts';

export type Clients = {
  users: GrpcClient<UserServiceDefinition>;
  apiKeys: GrpcClient<ApiKeyServiceDefinition, 'WatchRevocations'>;
  materials: GrpcClient<MaterialServiceDefinition>;
  reviews: GrpcClient<ReviewServiceDefinition>;
  snoozes: GrpcClient<SnoozeServiceDefinition>;
  stats: GrpcClient<StatsServiceDefinition>;
  userData: GrpcClient<UserDataServiceDefinition, 'ExportUserData'>;
  /** undefined: REMINDERS=off. */
  reminders: GrpcClient<ReminderServiceDefinition, 'ExportUserData'> | undefined;
};

/** Longer than the services' statement time-outs. */
export const DEADLINE_MS = 5000;

export function createClients(
  config: {
    schedulingTarget: string;
    accountsTarget: string;
    remindersTarget?: string | undefined;
    trust: GrpcTrust;
  },
  telemetry: Telemetry = NO_TELEMETRY,
  logger?: Logger,
): Clients {
  const scheduling = loadProto('scheduling/v1');
  const accounts = loadProto('accounts/v1');
  const common = {
    trust: config.trust,
    caller: 'gateway',
    deadlineMs: DEADLINE_MS,
    maxMessageBytes: LIMITS.answerBytes,
    telemetry,
  };
  const toPeer = (peer: string, target: string) => ({
    ...common,
    target,
    tokenWatch: createTokenWatch(peer, logger),
  });
  const toScheduling = toPeer('scheduling', config.schedulingTarget);
  const toAccounts = toPeer('accounts', config.accountsTarget);
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
    reminders:
      config.remindersTarget === undefined
        ? undefined
        : createGrpcClient<ReminderServiceDefinition, 'ExportUserData'>(
            serviceDefinition<ReminderServiceDefinition>(
              loadProto('reminders/v1'),
              'reminders.v1.ReminderService',
            ),
            toPeer('reminders', config.remindersTarget),
          ),
  };
}

export function closeClients(clients: Clients): void {
  for (const client of Object.values(clients)) client?.close();
}

/** @throws INVALID_REQUEST where REMINDERS is off. */
export function requireReminders({ reminders }: Clients): NonNullable<Clients['reminders']> {
  if (reminders !== undefined) return reminders;
  throw new ServiceError('INVALID_REQUEST', {
    message: 'Reminders are switched off here. Start the gateway with REMINDERS=on to use them.',
  });
}
