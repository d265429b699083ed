// A client of a reminders service that asks for no token.
import type { ReminderServiceDefinition } from '../../generated/reminders/v1/ReminderService.ts';
import { clientsOf } from '../../services/platform/grpc/client.ts';

export function connectReminders(target: string) {
  const trust = { serviceTokens: [], tls: undefined };
  const connect = clientsOf('reminders.v1', { target, trust, caller: 'test', deadlineMs: 30_000 });
  return connect<ReminderServiceDefinition, 'ExportUserData'>('ReminderService');
}
