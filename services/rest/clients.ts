// The gRPC clients of the REST facade.
import type { ApiKeyServiceDefinition } from '../../generated/accounts/v1/ApiKeyService.ts';
import type { MaterialServiceDefinition } from '../../generated/scheduling/v1/MaterialService.ts';
import type { ReviewServiceDefinition } from '../../generated/scheduling/v1/ReviewService.ts';
import type { SnoozeServiceDefinition } from '../../generated/scheduling/v1/SnoozeService.ts';
import { clientsOf, type LocalServers } from '../platform/grpc/client.ts';
import { createTelemetry, type Telemetry } from '../platform/observability/telemetry.ts';
import type { GrpcTrust, Peers } from '../platform/process/common-config.ts';

export type Clients = ReturnType<typeof createClients>;

/** Shorter than HTTP clients' time-outs, longer than the services' statement time-outs. */
export const DEADLINE_MS = 2500;

export function createClients(
  { schedulingTarget, accountsTarget, trust }: Peers & { trust: GrpcTrust },
  telemetry: Telemetry = createTelemetry(),
  locals?: LocalServers,
) {
  const common = { trust, caller: 'rest', deadlineMs: DEADLINE_MS, telemetry, locals };
  const scheduling = clientsOf('scheduling.v1', { ...common, target: schedulingTarget });
  const accounts = clientsOf('accounts.v1', { ...common, target: accountsTarget });
  const materials = scheduling<MaterialServiceDefinition>('MaterialService');
  const reviews = scheduling<ReviewServiceDefinition>('ReviewService');
  const snoozes = scheduling<SnoozeServiceDefinition>('SnoozeService');
  const apiKeys = accounts<ApiKeyServiceDefinition, 'WatchRevocations'>('ApiKeyService');
  const close = () => {
    for (const client of [materials, reviews, snoozes, apiKeys]) client.close();
  };
  return { materials, reviews, snoozes, apiKeys, close };
}
