// What every channel is: it hands one message to one person and says how that ended.

export type ReminderMessage = {
  /** ID of the delivery; the same when it is sent again, so that the receiver can recognize a duplicate. */
  deliveryId: string;
  firstName: string;
  dueCount: number;
  /** At most five. */
  titles: readonly string[];
  /** One-click link that switches the user's e-mail off. */
  unsubscribeUrl: string;
  isTest: boolean;
  /** When the reminder comes, on the user's clock; undefined for a test. */
  schedule: { minuteOfDay: number; weekdays: readonly number[]; timeZone: string } | undefined;
  /** From then on it would come at the wrong time of day. */
  expireTime: Date;
  /** Now, by the database's clock. */
  sendTime: Date;
};

export type PushAddress = {
  endpoint: string;
  p256dh: string;
  auth: string;
  /** Our public key when the browser subscribed; null: an earlier version did not store it. */
  vapidKey: string | null;
};

/** A message as people read it. */
export type MessageText = { subject: string; text: string };

/** Of the messages of every channel. */
export type MessageSettings = {
  /** The learning app, which messages link to; undefined: they have no link to it. */
  appUrl: string | undefined;
  showTitles: boolean;
};

/** Where a message goes to, by whatever channel. */
export type Recipient = {
  userId: string;
  email: string;
  /** Of a push message; null: removed since, or none. */
  subscription: PushAddress | null;
};

/** Why a message will never arrive. `refused`: by the recipient's end. `gone`: the subscription will never work again. */
export type FailureCause = 'refused' | 'gone' | 'e-mail off' | 'no subscription';

/** `reason`: a full sentence without the address, which people see. */
export type SendResult =
  | { result: 'sent' }
  /** Temporary: try again, not before `retryAfterMs` if it is given. `refusesUs`: the operator of the service must act. */
  | { result: 'retry'; reason: string; retryAfterMs?: number; refusesUs?: true }
  | { result: 'failed'; reason: string; cause: FailureCause };

export type Sending = {
  /** Messages sent at once. */
  parallel: number;
  /** Settles within 30 s. */
  send(message: ReminderMessage, recipient: Recipient): Promise<SendResult>;
};

export type Channel = Sending & {
  /** The text that `send` would send. */
  textOf(message: ReminderMessage): MessageText;
  close(): Promise<void>;
};
