// A stand-in for the reminders service over real gRPC, which keeps what a test gives it in memory and sends nothing.
import { randomBytes, randomUUID } from 'node:crypto';
import type { DeliveryInput } from '../../generated/reminders/v1/Delivery.ts';
import type { EmailChannelInput } from '../../generated/reminders/v1/EmailChannel.ts';
import type { PushSubscriptionInput } from '../../generated/reminders/v1/PushSubscription.ts';
import type { ReminderInput } from '../../generated/reminders/v1/Reminder.ts';
import type {
  ReminderServiceDefinition,
  ReminderServiceHandlers,
} from '../../generated/reminders/v1/ReminderService.ts';
import { invalidField, ServiceError } from '../../services/platform/errors.ts';
import { implement } from '../../services/platform/grpc/handlers.ts';
import { startGrpcServer } from '../../services/platform/grpc/server.ts';
import { createLogger } from '../../services/platform/logging/logger.ts';
import { loadProto, serviceDefinition } from '../../services/platform/protobuf/load.ts';
import { toTimestamp } from '../../services/platform/protobuf/timestamps.ts';

export type StubReminders = Awaited<ReturnType<typeof startStubReminders>>;
type UserReminders = {
  reminders: ReminderInput[];
  email: EmailChannelInput;
  /** Of each calendar address that was ever made; the last one holds unless `isFeedEnded`. */
  feedUrls: string[];
  isFeedEnded: boolean;
  subscriptions: PushSubscriptionInput[];
  /** Newest first. */
  deliveries: DeliveryInput[];
};

/** What `at` says, as a timestamp. */
export const timestamp = (at: string) => toTimestamp(new Date(at));

/** When a reminder comes next that is enabled. */
export const NEXT = '2099-01-15T08:00:30.000Z';
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
  ...changes,
});

export async function startStubReminders() {
  const users = new Map<string, UserReminders>();
  let isAway = false;
  const of = (userId: string): UserReminders => {
    if (isAway) throw new ServiceError('UNAVAILABLE');
    const found = users.get(userId) ?? {
      reminders: [],
      email: { enabled: true },
      feedUrls: [],
      isFeedEnded: false,
      subscriptions: [],
      deliveries: [],
    };
    users.set(userId, found);
    return found;
  };
  const indexOf = (rows: readonly { reminderId?: string }[], reminderId: string) => {
    const index = rows.findIndex((row) => row.reminderId === reminderId);
    if (index < 0) throw new ServiceError('NOT_FOUND');
    return index;
  };
  const proto = loadProto('reminders/v1');
  const server = await startGrpcServer({
    ...{ host: '127.0.0.1', port: 0, trust: { serviceTokens: [], tls: undefined } },
    logger: createLogger('test', 'silent'),
    proto,
    domain: 'reminders.v1',
    services: [
      implement<ReminderServiceHandlers>(
        serviceDefinition<ReminderServiceDefinition>(proto, 'reminders.v1.ReminderService'),
        {
          async CreateReminder({ userId, ...settings }) {
            const { reminders } = of(userId);
            if (reminders.length >= 10)
              throw new ServiceError('INVALID_REQUEST', { message: 'A user has at most 10 reminders.' });
            const reminder = stubReminder(settings);
            reminders.push(reminder);
            return { reminder };
          },
          async UpdateReminder({ userId, reminderId, updateMask, ...values }) {
            const { reminders } = of(userId);
            const index = indexOf(reminders, reminderId);
            const named = (updateMask?.paths ?? []).map((path) =>
              path.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
            );
            const after: ReminderInput = {
              ...reminders[index],
              ...Object.fromEntries(Object.entries(values).filter(([name]) => named.includes(name))),
            };
            reminders[index] = { ...after, nextTime: after.enabled ? timestamp(NEXT) : null };
            return { reminder: reminders[index] };
          },
          async DeleteReminder({ userId, reminderId }) {
            const { reminders } = of(userId);
            reminders.splice(indexOf(reminders, reminderId), 1);
            return {};
          },
          ListReminders: async ({ userId }) => ({ reminders: of(userId).reminders }),
          async GetChannels({ userId }) {
            const { email, feedUrls, isFeedEnded } = of(userId);
            const hasFeed = feedUrls.length > 0 && !isFeedEnded;
            return { email, calendarFeed: hasFeed ? { createTime: timestamp(MADE) } : null };
          },
          async SetEmailEnabled({ userId, enabled }) {
            const off = { offReason: 'EMAIL_OFF_REASON_SWITCHED_OFF', offTime: timestamp(MADE) } as const;
            of(userId).email = { enabled, ...(enabled ? {} : off) };
            return { email: of(userId).email };
          },
          async CreateCalendarFeed({ userId }) {
            const url = `https://remind.example.com/calendar/${randomBytes(32).toString('base64url')}.ics`;
            of(userId).feedUrls.push(url);
            of(userId).isFeedEnded = false;
            return { url, calendarFeed: { createTime: timestamp(MADE) } };
          },
          async DeleteCalendarFeed({ userId }) {
            of(userId).isFeedEnded = true;
            return { deleted: true };
          },
          async RegisterPushSubscription() {
            throw new ServiceError('INVALID_REQUEST');
          },
          ListPushSubscriptions: async ({ userId }) => ({ subscriptions: of(userId).subscriptions }),
          async DeletePushSubscription({ userId, subscriptionId }) {
            const user = of(userId);
            user.subscriptions = user.subscriptions.filter((each) => each.subscriptionId !== subscriptionId);
            return {};
          },
          GetPushPublicKey: async () => ({ publicKey: 'public-key' }),
          async ListDeliveries({ userId, pageSize, pageToken }) {
            const from = pageToken === '' ? 0 : Number(pageToken);
            if (!Number.isInteger(from)) throw invalidField('page_token', 'is not a token of this list.');
            const { deliveries } = of(userId);
            const to = from + (pageSize || 20);
            const nextPageToken = to < deliveries.length ? String(to) : '';
            return { deliveries: deliveries.slice(from, to), nextPageToken };
          },
          async SendTestReminder({ userId, channel }) {
            const { deliveries, subscriptions } = of(userId);
            if (deliveries.filter(({ isTest }) => isTest).length >= 5)
              throw new ServiceError('RATE_LIMITED', { retryAfterSeconds: 1800 });
            const ids =
              channel === 'CHANNEL_PUSH'
                ? subscriptions.map(({ subscriptionId = '' }) => subscriptionId)
                : [''];
            const made = ids.map((subscriptionId) => stubDelivery({ channel, subscriptionId, isTest: true }));
            deliveries.unshift(...made);
            return { deliveries: made };
          },
          async ExportUserData() {},
          DeleteUserData: async ({ userId }) => {
            users.delete(userId);
            return {};
          },
        },
      ),
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
    stop: () => server.close(200),
  };
}
