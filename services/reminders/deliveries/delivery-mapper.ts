// Maps a delivery to its message.
import type { Channel } from '../../../generated/reminders/v1/Channel.ts';
import type { DeliveryInput } from '../../../generated/reminders/v1/Delivery.ts';
import type { DeliveryState as StateMessage } from '../../../generated/reminders/v1/DeliveryState.ts';
import type { SkipReason as SkipReasonMessage } from '../../../generated/reminders/v1/SkipReason.ts';
import { toTimestamp } from '../../platform/protobuf/timestamps.ts';
import {
  type ChannelName,
  type Delivery,
  type DeliveryState,
  NO_SUBSCRIPTION,
  type SkipReason,
} from './delivery.ts';

const CHANNELS: Record<ChannelName, Channel> = { email: 'CHANNEL_EMAIL', push: 'CHANNEL_PUSH' };
const STATES: Record<DeliveryState, StateMessage> = {
  pending: 'DELIVERY_STATE_PENDING',
  sent: 'DELIVERY_STATE_SENT',
  skipped: 'DELIVERY_STATE_SKIPPED',
  failed: 'DELIVERY_STATE_FAILED',
};
const SKIP_REASONS: Record<SkipReason, SkipReasonMessage> = {
  'nothing due': 'SKIP_REASON_NOTHING_DUE',
  'already reviewed': 'SKIP_REASON_ALREADY_REVIEWED',
  paused: 'SKIP_REASON_PAUSED',
  late: 'SKIP_REASON_LATE',
};

export function toDeliveryMessage(delivery: Delivery): DeliveryInput {
  const { skipReason, subscriptionId } = delivery;
  return {
    deliveryId: delivery.deliveryId,
    reminderId: delivery.isTest ? '' : delivery.reminderId,
    localDate: delivery.localDate,
    channel: CHANNELS[delivery.channel],
    subscriptionId: subscriptionId === NO_SUBSCRIPTION ? '' : subscriptionId,
    state: STATES[delivery.state],
    skipReason: skipReason === null ? 'SKIP_REASON_UNSPECIFIED' : SKIP_REASONS[skipReason],
    failure: delivery.failure ?? '',
    dueTime: toTimestamp(delivery.dueTime),
    updateTime: toTimestamp(delivery.updateTime),
    attempts: delivery.attempts,
    isTest: delivery.isTest,
    createTime: toTimestamp(delivery.createTime),
  };
}
