// The gRPC clients of the gateway.
import type { ApiKeyServiceDefinition } from '../generated/accounts/v1/ApiKeyService.ts';
import type { UserEventServiceDefinition } from '../generated/accounts/v1/UserEventService.ts';
import type { UserServiceDefinition } from '../generated/accounts/v1/UserService.ts';
import type { ReminderServiceDefinition } from '../generated/reminders/v1/ReminderService.ts';
import type { LearnerServiceDefinition } from '../generated/scheduling/v1/LearnerService.ts';
import type { MaterialServiceDefinition } from '../generated/scheduling/v1/MaterialService.ts';
import type { ReviewServiceDefinition } from '../generated/scheduling/v1/ReviewService.ts';
import type { SnoozeServiceDefinition } from '../generated/scheduling/v1/SnoozeService.ts';
import type { StatsServiceDefinition } from '../generated/scheduling/v1/StatsService.ts';
import type { UserDataServiceDefinition } from '../generated/scheduling/v1/UserDataService.ts';
import { hasReason, ServiceError } from '../services/platform/errors.ts';
import { clientsOf, type LocalServers } from '../services/platform/grpc/client.ts';
import { createTelemetry, type Telemetry } from '../services/platform/observability/telemetry.ts';
import type { GrpcTrust, Peers } from '../services/platform/process/common-config.ts';
import { LIMITS } from './budget.ts';

export type Clients = ReturnType<typeof createClients>;

/** Longer than the services' statement time-outs. */
export const DEADLINE_MS = 5000;

export function createClients(
  config: Peers & {
    remindersTarget?: string | undefined;
    trust: GrpcTrust;
    /** The program's name, for the services' audit logs. Default: gateway. */
    caller?: string;
    /** Default: 5 s. */
    deadlineMs?: number;
  },
  telemetry: Telemetry = createTelemetry(),
  locals?: LocalServers,
) {
  const common = {
    trust: config.trust,
    caller: config.caller ?? 'gateway',
    deadlineMs: config.deadlineMs ?? DEADLINE_MS,
    maxMessageBytes: LIMITS.answerBytes,
    telemetry,
    locals,
  };
  const clientsTo = (peer: string, target: string) => clientsOf(`${peer}.v1`, { ...common, target });
  const scheduling = clientsTo('scheduling', config.schedulingTarget);
  const accounts = clientsTo('accounts', config.accountsTarget);
  return {
    users: accounts<UserServiceDefinition>('UserService'),
    apiKeys: accounts<ApiKeyServiceDefinition, 'WatchRevocations'>('ApiKeyService'),
    userEvents: accounts<UserEventServiceDefinition>('UserEventService'),
    materials: scheduling<MaterialServiceDefinition>('MaterialService'),
    reviews: scheduling<ReviewServiceDefinition>('ReviewService'),
    snoozes: scheduling<SnoozeServiceDefinition>('SnoozeService'),
    learners: scheduling<LearnerServiceDefinition>('LearnerService'),
    stats: scheduling<StatsServiceDefinition>('StatsService'),
    userData: scheduling<UserDataServiceDefinition, 'ExportUserData', 'ImportUserData'>('UserDataService'),
    // REMINDERS=off has none.
    reminders:
      config.remindersTarget === undefined
        ? undefined
        : clientsTo(
            'reminders',
            config.remindersTarget,
          )<ReminderServiceDefinition, 'ExportUserData'>('ReminderService'),
  };
}

export function closeClients(clients: Clients): void {
  for (const client of Object.values(clients)) client?.close();
}

/** A move of 90 days can make 900 messages. With the move itself, within the deadline of the dashboard. */
const FOLLOW_TIMEOUT_MS = 9_000;

/**
 * Makes the reminders of a sandbox user follow their clock after a move, before anything done later can affect them. If the service is
 * unavailable, it does so when it is back.
 */
export async function followTestClock(
  { reminders }: Pick<Clients, 'reminders'>,
  userId: string,
  call: { requestId: string },
): Promise<void> {
  try {
    await reminders?.followTestClock({ userId }, { ...call, deadlineMs: FOLLOW_TIMEOUT_MS });
  } catch (error) {
    if (!hasReason(error, 'UNAVAILABLE')) throw error;
  }
}

/** @throws INVALID_REQUEST where REMINDERS is off. */
export function requireReminders({ reminders }: Clients): NonNullable<Clients['reminders']> {
  if (reminders !== undefined) return reminders;
  throw new ServiceError('INVALID_REQUEST', {
    message: 'Reminders are switched off here. Start the gateway with REMINDERS=on to use them.',
  });
}
