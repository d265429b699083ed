// A delivery: one occurrence by one channel to one address.

export type ChannelName = 'email' | 'push';
export type SkipReason = 'nothing due' | 'already reviewed' | 'paused' | 'late';
export type DeliveryState = 'pending' | 'sent' | 'skipped' | 'failed';

/** Stands for "no subscription" in a key. */
export const NO_SUBSCRIPTION = '00000000-0000-0000-0000-000000000000';

export type Delivery = {
  userId: string;
  deliveryId: string;
  /** Of a test, an ID of its own. */
  reminderId: string;
  /** YYYY-MM-DD. */
  localDate: string;
  channel: ChannelName;
  /** NO_SUBSCRIPTION for e-mail. */
  subscriptionId: string;
  isTest: boolean;
  state: DeliveryState;
  skipReason: SkipReason | null;
  /** Of the latest attempt. */
  failure: string | null;
  dueTime: Date;
  createTime: Date;
  updateTime: Date;
  attempts: number;
};

/** What a worker made of a delivery that it had leased. */
export type Outcome =
  | { state: 'sent' }
  | { state: 'skipped'; skipReason: SkipReason }
  /** `isGone`: the address will never work again. */
  | { state: 'failed'; cause: FailureCause; failure: string; isGone?: boolean }
  /** To be taken again; `failure` is absent if nothing has failed. */
  | { state: 'pending'; retryInMs: number; failure?: string };

/** Why a delivery failed, for metrics. */
type FailureCause = 'refused' | 'gone' | 'gave up' | 'e-mail off' | 'no subscription' | 'no user';
