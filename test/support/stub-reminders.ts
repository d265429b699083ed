// A stand-in for the reminders service over real gRPC, which shows what a test gives it and refuses every change.
import { randomUUID } from 'node:crypto';
import type { DeliveryInput } from '../../generated/reminders/v1/Delivery.ts';
import type { EmailChannelInput } from '../../generated/reminders/v1/EmailChannel.ts';
import type { PushSubscriptionInput } from '../../generated/reminders/v1/PushSubscription.ts';
import type { ReminderInput } from '../../generated/reminders/v1/Reminder.ts';
import type {
  ReminderServiceDefinition,
  ReminderServiceHandlers,
} from '../../generated/reminders/v1/ReminderService.ts';
import { invalidField, ServiceError } from '../../services/platform/errors.ts';
import { type AsyncHandlers, implement } from '../../services/platform/grpc/handlers.ts';
import { startGrpcServer } from '../../services/platform/grpc/server.ts';
import { type Timestamp, toTimestamp } from '../../services/platform/instants.ts';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { loadProto, serviceDefinition } from '../../services/platform/protobuf/load.ts';

type UserReminders = {
  reminders: ReminderInput[];
  email: EmailChannelInput;
  hasFeed: boolean;
  subscriptions: PushSubscriptionInput[];
  /** Newest first. */
  deliveries: DeliveryInput[];
};

/** What `at` says, as a timestamp. */
export const timestamp = (at: string) => toTimestamp(new Date(at));

/** When a reminder comes next that is enabled. */
const NEXT = '2099-01-15T08:00:30.000Z';
/** When reminders, addresses and deliveries are made. */
export const MADE = '2026-11-03T08:00:30.000Z';

/** A reminder at 09:00 each day by e-mail, other than `changes` say. */
export const stubReminder = (changes: ReminderInput = {}): ReminderInput => ({
  reminderId: randomUUID(),
  timeOfDay: '09:00',
  weekdays: [1, 2, 3, 4, 5, 6, 7],
  channels: ['CHANNEL_EMAIL'],
  minDue: 1,
  enabled: true,
  nextTime: timestamp(NEXT),
  createTime: timestamp(MADE),
  updateTime: timestamp(MADE),
  ...changes,
});

/** A pending delivery by e-mail, other than `changes` say. */
export const stubDelivery = (changes: DeliveryInput = {}): DeliveryInput => ({
  deliveryId: randomUUID(),
  localDate: '2026-11-03',
  channel: 'CHANNEL_EMAIL',
  state: 'DELIVERY_STATE_PENDING',
  dueTime: timestamp(MADE),
  updateTime: timestamp(MADE),
  createTime: timestamp(MADE),
  ...changes,
});

export async function startStubReminders() {
  const users = new Map<string, UserReminders>();
  let isAway = false;
  let isPushSetUp = true;
  const of = (userId: string): UserReminders => {
    if (isAway) throw new ServiceError('UNAVAILABLE');
    const found = users.get(userId) ?? {
      reminders: [],
      email: { enabled: true },
      hasFeed: false,
      subscriptions: [],
      deliveries: [],
    };
    users.set(userId, found);
    return found;
  };
  const proto = loadProto('reminders.v1');
  const definition = serviceDefinition<ReminderServiceDefinition>(proto, 'reminders.v1.ReminderService');
  const refused: object = Object.fromEntries(
    Object.keys(definition).map((rpc) => [
      rpc,
      async () => {
        throw new Error('the stub does not answer this');
      },
    ]),
  );
  const server = await startGrpcServer({
    host: '127.0.0.1',
    port: 0,
    trust: { serviceTokens: [], tls: undefined },
    logger: createLogger('test', 'silent'),
    domain: 'reminders.v1',
    services: [
      implement<ReminderServiceHandlers>('ReminderService', {
        ...(refused as AsyncHandlers<ReminderServiceHandlers>),
        FollowTestClock: async () => ({}),
        ListReminders: async ({ userId }) => ({ reminders: of(userId).reminders }),
        async GetChannels({ userId }) {
          const { email, hasFeed } = of(userId);
          return { email, calendarFeed: hasFeed ? { createTime: timestamp(MADE) } : null };
        },
        ListEmailOffUsers: async () => ({ users: [], totalSize: 0 }),
        ListPushSubscriptions: async ({ userId }) => ({ subscriptions: of(userId).subscriptions }),
        GetPushPublicKey: async () => ({ publicKey: isPushSetUp ? 'public-key' : '' }),
        async ListDeliveries({ userId, pageSize, pageToken, beforeTime, beforeId }) {
          const all = of(userId).deliveries;
          const start = beforeTime === null ? 0 : indexAfter(all, { time: beforeTime, id: beforeId });
          const from = pageToken === '' ? start : Number(pageToken);
          if (!Number.isInteger(from)) throw invalidField('page_token', 'is not a token of this list.');
          const to = from + (pageSize || 20);
          const nextPageToken = to < all.length ? String(to) : '';
          return { deliveries: all.slice(from, to), nextPageToken };
        },
      }),
    ],
  });
  return {
    target: `127.0.0.1:${server.port}`,
    /** What it holds of a user; a test may change it. */
    of,
    /** Whether it answers each call about a user with UNAVAILABLE. */
    setAway(away: boolean) {
      isAway = away;
    },
    /** Whether it has VAPID keys. */
    setPushSetUp(isSetUp: boolean) {
      isPushSetUp = isSetUp;
    },
    stop: () => server.close(200),
  };
}

/** Where the deliveries begin that come after a time and ID. */
function indexAfter(all: readonly DeliveryInput[], { time, id }: { time: Timestamp; id: string }): number {
  const known = all.findIndex(({ deliveryId }) => deliveryId === id);
  if (known >= 0) return known + 1;
  const first = all.findIndex(({ createTime }) => Number(createTime?.seconds) <= time.seconds);
  return first < 0 ? all.length : first;
}
