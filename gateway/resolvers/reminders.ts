// A user's reminders, their channels, what was sent, and their mutations. Roles and the audit log are handled as for all mutations.
import type { MutationResolvers, Resolvers, UserResolvers } from '../../generated/gateway/resolvers.ts';
import type { KeptMessage } from '../../generated/reminders/v1/KeptMessage.ts';
import { invalidField } from '../../services/platform/errors.ts';
import { toTimestamp } from '../../services/platform/instants.ts';
import { requireReminders } from '../clients.ts';
import { readConnection } from '../connections.ts';
import { given, maskOf, required, toOptionalTime, toTime } from '../mapper.ts';
import { unlessNew } from './mutation.ts';

const User: UserResolvers = {
  reminders: async ({ userId }, _arguments, { clients, budget }) =>
    (await budget.read(requireReminders(clients).listReminders, { userId })).reminders,

  reminderDeliveries: ({ userId }, page, { clients, budget }) =>
    readConnection(page, async (request) => {
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
};

/** With the link, anyone can switch the user's e-mail off, which a viewer may not. */
const withoutUnsubscribeLinks = ({ subject, text }: KeptMessage): KeptMessage => ({
  subject,
  text: text.replaceAll(/\S*\/unsubscribe\/\S+/g, '(hidden from viewers)'),
});

type Lists = { weekdays?: readonly unknown[] | null; channels?: readonly unknown[] | null };

/** Over gRPC, an empty list would mean all days, or no change. @throws INVALID_REQUEST for an empty list. */
function refuseNone({ weekdays, channels }: Lists): void {
  if (weekdays?.length === 0) throw invalidField('weekdays', 'must hold at least one day.');
  if (channels?.length === 0) throw invalidField('channels', 'must hold at least one channel.');
}

const Mutation: MutationResolvers = {
  async createReminder(_parent, { input }, { clients, call }) {
    const { time, pausedUntil, ...others } = input;
    refuseNone(input);
    const { reminder } = await requireReminders(clients).createReminder(
      {
        ...given({ ...others, timeOfDay: time }),
        ...(pausedUntil && { pausedUntilTime: toTimestamp(pausedUntil) }),
      },
      call,
    );
    return { reminder: required(reminder) };
  },

  async updateReminder(_parent, { input }, { clients, call }) {
    refuseNone(input);
    const { userId, reminderId, time, pausedUntil, ...others } = input;
    const answer = await requireReminders(clients).updateReminder(
      {
        userId,
        reminderId,
        updateMask: maskOf({ ...others, timeOfDay: time, pausedUntilTime: pausedUntil }),
        ...given({ ...others, timeOfDay: time }),
        ...(pausedUntil && { pausedUntilTime: toTimestamp(pausedUntil) }),
      },
      call,
    );
    return { reminder: required(answer.reminder), ...unlessNew(answer) };
  },

  async deleteReminder(_parent, { input }, { clients, call }) {
    await requireReminders(clients).deleteReminder(input, call);
    return { reminderId: input.reminderId };
  },

  async createCalendarFeed(_parent, { input: { userId } }, { clients, call }) {
    const { url, calendarFeed } = await requireReminders(clients).createCalendarFeed({ userId }, call);
    return { url, calendarFeed: required(calendarFeed) };
  },

  deleteCalendarFeed: (_parent, { input: { userId } }, { clients, call }) =>
    requireReminders(clients).deleteCalendarFeed({ userId }, call),

  async setEmailReminders(_parent, { input: { userId, enabled } }, { clients, call }) {
    const answer = await requireReminders(clients).setEmailEnabled({ userId, enabled }, call);
    return { emailReminders: required(answer.email), ...unlessNew(answer) };
  },

  switchRefusedEmailOn: (_parent, { input: { offSince } }, { clients, call }) =>
    requireReminders(clients).switchRefusedEmailOn({ offSinceTime: toTimestamp(offSince) }, call),

  async registerPushSubscription(_parent, { input }, { clients, call }) {
    const answer = await requireReminders(clients).registerPushSubscription(input, call);
    return { pushSubscription: required(answer.subscription), ...unlessNew(answer) };
  },

  async deletePushSubscription(_parent, { input }, { clients, call }) {
    await requireReminders(clients).deletePushSubscription(input, call);
    return { subscriptionId: input.subscriptionId };
  },

  sendTestReminder: (_parent, { input: { userId, channel } }, { clients, call }) =>
    requireReminders(clients).sendTestReminder({ userId, channel }, call),
};

export const reminderResolvers: Resolvers = {
  User,
  Mutation,
  Reminder: {
    id: ({ reminderId }) => reminderId,
    time: ({ timeOfDay }) => timeOfDay,
    pausedUntil: ({ pausedUntilTime }) => toOptionalTime(pausedUntilTime),
    nextAt: ({ nextTime }) => toOptionalTime(nextTime),
    createdAt: ({ createTime }) => toTime(createTime),
    updatedAt: ({ updateTime }) => toTime(updateTime),
  },
  ReminderDelivery: {
    id: ({ deliveryId }) => deliveryId,
    reminderId: ({ reminderId }) => reminderId || null,
    pushSubscriptionId: ({ subscriptionId }) => subscriptionId || null,
    skipReason: ({ skipReason }) => (skipReason === 'SKIP_REASON_UNSPECIFIED' ? null : skipReason),
    failure: ({ failure }) => failure || null,
    keptMessage: ({ keptMessage }, _arguments, { identity }) =>
      identity.role === 'operator' || keptMessage === null
        ? keptMessage
        : withoutUnsubscribeLinks(keptMessage),
    dueAt: ({ dueTime }) => toTime(dueTime),
    updatedAt: ({ updateTime }) => toTime(updateTime),
  },
  PushSubscription: {
    id: ({ subscriptionId }) => subscriptionId,
    host: ({ endpointHost }) => endpointHost,
    createdAt: ({ createTime }) => toTime(createTime),
  },
  CalendarFeed: { createdAt: ({ createTime }) => toTime(createTime) },
  EmailReminders: {
    offReason: ({ offReason }) => (offReason === 'EMAIL_OFF_REASON_UNSPECIFIED' ? null : offReason),
    offAt: ({ offTime }) => toOptionalTime(offTime),
  },
};
