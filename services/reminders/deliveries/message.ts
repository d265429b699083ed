// A delivery as the message that a channel sends or keeps.
import type { ReminderMessage } from '../channels/channel.ts';
import type { Account, DueCount } from '../peers.ts';
import { LATE_AFTER_MS } from '../reminders/reminder.ts';
import type { LeasedDelivery } from './decide.ts';

/** `publicUrl`: what links begin with, without a slash at the end. `time`: now. */
export function messageOf(
  delivery: Pick<LeasedDelivery, 'deliveryId' | 'isTest' | 'dueTime' | 'reminder' | 'unsubscribeToken'>,
  { account, due }: { account: Account | undefined; due: DueCount | undefined },
  { publicUrl, time }: { publicUrl: string; time: Date },
): ReminderMessage {
  return {
    deliveryId: delivery.deliveryId,
    firstName: account?.firstName ?? '',
    dueCount: due?.dueCount ?? 0,
    titles: due?.titles ?? [],
    unsubscribeUrl: `${publicUrl}/unsubscribe/${delivery.unsubscribeToken.toString('base64url')}`,
    isTest: delivery.isTest,
    schedule: delivery.reminder ?? undefined,
    expireTime: new Date(delivery.dueTime.getTime() + LATE_AFTER_MS),
    sendTime: time,
  };
}
