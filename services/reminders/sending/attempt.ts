// One attempt to hand a message over, and what follows from how it ended.
import { within } from '../../platform/concurrency.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { Logger } from '../../platform/logging/logger.ts';
import type { Channel, ReminderMessage, SendResult } from '../channels/channel.ts';
import type { ChannelName, Outcome } from '../deliveries/delivery.ts';
import { retryOrGiveUp } from './retries.ts';

/** Longer than the channels' own time-outs. */
export const LONGEST_SEND_MS = 45_000;

/** Always resolves: what a channel throws, or never answers, is a temporary failure. */
export async function attempt<Address>(
  channel: Channel<Address>,
  { address, message, logger }: { address: Address; message: ReminderMessage; logger: Logger },
): Promise<SendResult> {
  const reason = `There was no answer within ${LONGEST_SEND_MS / 1000} s.`;
  try {
    return await within(channel.send(message, address), LONGEST_SEND_MS, () => ({ result: 'retry', reason }));
  } catch (error) {
    // The error's own text may hold the address.
    const code = error instanceof ServiceError ? error.reason : error instanceof Error ? error.name : 'error';
    logger.error({ code, deliveryId: message.deliveryId }, 'a channel failed');
    return { result: 'retry', reason: 'An error in the reminders service prevented sending.' };
  }
}

/** `attempts`: made so far, this one included. */
export function outcomeOf(
  sent: SendResult,
  channel: ChannelName,
  tried: { attempts: number; dueTime: Date; now: Date; random: number },
): Outcome {
  if (sent.result === 'sent') return { state: 'sent' };
  if (sent.result === 'retry') return retryOrGiveUp(sent, tried);
  const isGone = channel === 'push' && sent.isGone;
  return { state: 'failed', cause: isGone ? 'gone' : 'refused', failure: sent.reason, isGone };
}
