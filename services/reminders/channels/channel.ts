// What every channel is: it hands one message to one address and tells how that ended.
export type ReminderMessage = {
  /** Of the delivery; the same when it is sent again, so that the receiver recognises a double. */
  deliveryId: string;
  userId: string;
  firstName: string;
  dueCount: number;
  /** At most five. */
  titles: readonly string[];
  /** One-click link that switches the user's e-mail off. */
  unsubscribeUrl: string;
  isTest: boolean;
  /** The instant of its turn. */
  dueTime: Date;
};
/** `reason`: a full sentence without the address, which people see. */
export type SendResult =
  | { result: 'sent' }
  /** Temporary: try again, not before `retryAfterMs` where it is given. */
  | { result: 'retry'; reason: string; retryAfterMs?: number }
  /** Permanent. `isGone`: the address will never work again. */
  | { result: 'failed'; reason: string; isGone: boolean };
export type Channel<Address> = {
  send(message: ReminderMessage, address: Address): Promise<SendResult>;
  close(): Promise<void>;
};
export type EmailAddress = { email: string };
export type PushAddress = { endpoint: string; p256dh: string; auth: string };
