// A user's reminders, their channels, and what was sent.
import type {
  CalendarFeedResolvers,
  EmailRemindersResolvers,
  PushSubscriptionResolvers,
  ReminderDeliveryResolvers,
  ReminderResolvers,
  UserResolvers,
} from '../../generated/gateway/resolvers.ts';
import { requireReminders } from '../clients.ts';
import {
  fromDeliveryState,
  fromEmailOffReason,
  fromReminderChannel,
  fromSkipReason,
  fromWeekday,
  required,
  toOptionalTime,
  toTime,
} from '../graphql/mapper.ts';
import { ID_OF } from '../graphql/model.ts';
import { readConnection } from '../graphql/relay.ts';

export const remindersOfUser = {
  reminders: async ({ userId }, _arguments, { clients, budget }) =>
    (await budget.read(requireReminders(clients).listReminders, { userId })).reminders,

  reminderDeliveries: ({ userId }, page, { clients, budget }) =>
    readConnection(page, ID_OF.delivery, async (request) => {
      const { deliveries, nextPageToken } = await budget.read(requireReminders(clients).listDeliveries, {
        userId,
        ...request,
      });
      return { rows: deliveries, nextPageToken };
    }),

  pushSubscriptions: async ({ userId }, _arguments, { clients, budget }) =>
    (await budget.read(requireReminders(clients).listPushSubscriptions, { userId })).subscriptions,

  calendarFeed: async ({ userId }, _arguments, { clients, budget }) =>
    (await budget.read(requireReminders(clients).getChannels, { userId })).calendarFeed,

  emailReminders: async ({ userId }, _arguments, { clients, budget }) =>
    required((await budget.read(requireReminders(clients).getChannels, { userId })).email),
} satisfies UserResolvers;

export const Reminder: ReminderResolvers = {
  id: ({ reminderId }) => reminderId,
  time: ({ timeOfDay }) => timeOfDay,
  weekdays: ({ weekdays }) => weekdays.map(fromWeekday),
  channels: ({ channels }) => channels.map(fromReminderChannel),
  pausedUntil: ({ pausedUntilTime }) => toOptionalTime(pausedUntilTime),
  nextAt: ({ nextTime }) => toOptionalTime(nextTime),
  createdAt: ({ createTime }) => toTime(createTime),
  updatedAt: ({ updateTime }) => toTime(updateTime),
};

export const ReminderDelivery: ReminderDeliveryResolvers = {
  id: ({ deliveryId }) => deliveryId,
  reminderId: ({ reminderId }) => reminderId || null,
  channel: ({ channel }) => fromReminderChannel(channel),
  pushSubscriptionId: ({ subscriptionId }) => subscriptionId || null,
  state: ({ state }) => fromDeliveryState(state),
  skipReason: ({ skipReason }) =>
    skipReason === 'SKIP_REASON_UNSPECIFIED' ? null : fromSkipReason(skipReason),
  failure: ({ failure }) => failure || null,
  dueAt: ({ dueTime }) => toTime(dueTime),
  updatedAt: ({ updateTime }) => toTime(updateTime),
};

export const PushSubscription: PushSubscriptionResolvers = {
  id: ({ subscriptionId }) => subscriptionId,
  host: ({ endpointHost }) => endpointHost,
  createdAt: ({ createTime }) => toTime(createTime),
};

export const CalendarFeed: CalendarFeedResolvers = {
  createdAt: ({ createTime }) => toTime(createTime),
};

export const EmailReminders: EmailRemindersResolvers = {
  offReason: ({ offReason }) =>
    offReason === 'EMAIL_OFF_REASON_UNSPECIFIED' ? null : fromEmailOffReason(offReason),
  offAt: ({ offTime }) => toOptionalTime(offTime),
};
