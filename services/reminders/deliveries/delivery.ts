// A delivery: one occurrence by one channel to one address.
import type { ChannelName } from '../channels/registry.ts';

/** `sandbox`: only in deliveries that an earlier version made. */
export type SkipReason = 'nothing due' | 'already reviewed' | 'paused' | 'late' | 'sandbox';
type DeliveryState = 'pending' | 'sent' | 'skipped' | 'failed' | 'kept';

export type Delivery = {
  userId: string;
  deliveryId: string;
  /** Of a test, an ID of its own. */
  reminderId: string;
  /** YYYY-MM-DD. */
  localDate: string;
  channel: ChannelName;
  /** NO_SUBSCRIPTION where the channel has a single address. */
  subscriptionId: string;
  isTest: boolean;
  state: DeliveryState;
  skipReason: SkipReason | null;
  /** Of the latest attempt. */
  failure: string | null;
  /** What a sandbox user would have been sent; null unless it was kept. */
  keptSubject: string | null;
  keptText: string | null;
  dueTime: Date;
  createTime: Date;
  updateTime: Date;
  attempts: number;
};

/** A new delivery: pending, unless it has a skip reason. */
export function newDelivery(
  made: Omit<Delivery, 'state' | 'failure' | 'keptSubject' | 'keptText' | 'updateTime' | 'attempts'>,
): Delivery {
  return {
    ...made,
    state: made.skipReason === null ? 'pending' : 'skipped',
    failure: null,
    keptSubject: null,
    keptText: null,
    updateTime: made.createTime,
    attempts: 0,
  };
}

/** UUIDs begin with 48 bits, which are the milliseconds in those of version 7. */
const TIME_DIGITS = 12;

/**
 * The upper bound of the IDs of deliveries that were created before `time`, or at `time` with an ID below `id`. IDs are UUIDs of version 7
 * that begin with the create_time.
 */
export function idBelow({ time, id }: { time: Date; id: string }): string {
  const digits = Math.max(0, time.getTime()).toString(16).padStart(TIME_DIGITS, '0');
  const prefix = `${digits.slice(0, 8)}-${digits.slice(8)}`;
  if (id.startsWith(prefix)) return id;
  return id < prefix ? `${prefix}-0000-0000-000000000000` : `${prefix}-ffff-ffff-ffffffffffff`;
}
