// The rpcs of reminders.v1.ReminderService for where reminders go: the e-mail switch, push subscriptions, the calendar's address.
import type { CalendarFeedInput } from '../../../generated/reminders/v1/CalendarFeed.ts';
import type { EmailChannelInput } from '../../../generated/reminders/v1/EmailChannel.ts';
import type { GetChannelsResponseInput } from '../../../generated/reminders/v1/GetChannelsResponse.ts';
import type { PushSubscriptionInput } from '../../../generated/reminders/v1/PushSubscription.ts';
import type { ReminderServiceHandlers } from '../../../generated/reminders/v1/ReminderService.ts';
import { invalidField, ServiceError } from '../../platform/errors.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import { fromTimestamp, toOptionalTimestamp, toTimestamp } from '../../platform/instants.ts';
import { byTime, decodeTimePosition, readPageSize, toPage } from '../../platform/page-token.ts';
import { enumName } from '../../platform/protobuf/enums.ts';
import { requireUserId } from '../../platform/uuid.ts';
import type { Dependencies } from '../dependencies.ts';
import { notFound, requireId } from '../requests.ts';
import { writeForUser } from '../users/locked-user.ts';
import { hashOfSecret, SECRET_BYTES } from './links.ts';
import type { Channels } from './registry.ts';
import {
  countEmailOff,
  deleteFeed,
  deleteSubscription,
  findUser,
  listEmailOff,
  listSubscriptions,
  type Subscription,
  saveSubscription,
  setEmailOff,
  setFeed,
  switchRefusedOn,
  type UserRow,
} from './sql.ts';

const MAX_SUBSCRIPTIONS = 10;
/** As many as the gateway records events of. */
const MAX_SWITCHED_ON = 100;
const EMAIL_OFF_LIST = ['ListEmailOffUsers'];

export function createChannelHandlers(
  dependencies: Dependencies & {
    /** What links begin with, without a slash at the end. */
    publicUrl: string;
    channels: Channels;
  },
) {
  const { database, now, newId, randomBytes, publicUrl } = dependencies;
  const { push } = dependencies.channels;
  return {
    async GetChannels(request) {
      return toChannelsMessage(await findUser(database, requireUserId(request.userId)));
    },

    async SetEmailEnabled(request) {
      const userId = requireUserId(request.userId);
      return writeForUser(dependencies, userId, async (transaction, before) => {
        const reason = request.enabled ? null : 'switched off';
        const user = await setEmailOff(transaction, userId, reason, now);
        const unchanged =
          user?.emailOffReason === before.emailOffReason && user.emailOffBefore === before.emailOffBefore;
        return { email: toEmailMessage(user), unchanged };
      });
    },

    async ListEmailOffUsers(request) {
      const pageSize = readPageSize(request.pageSize);
      const after = decodeTimePosition(request.pageToken, EMAIL_OFF_LIST);
      const [rows, totalSize] = await Promise.all([
        listEmailOff(database, { limit: pageSize + 1, after }, now),
        countEmailOff(database, now),
      ]);
      const { page, nextPageToken } = toPage(rows, pageSize, EMAIL_OFF_LIST, ({ emailOffTime, userId }) =>
        byTime(emailOffTime, userId),
      );
      const users = page.map((user) => ({ userId: user.userId, email: toEmailMessage(user) }));
      return { users, nextPageToken, totalSize };
    },

    async SwitchRefusedEmailOn({ offSinceTime }) {
      if (offSinceTime === null) throw invalidField('off_since_time', 'must be given.');
      const offSince = fromTimestamp(offSinceTime, 'off_since_time');
      const userIds = await switchRefusedOn(database, offSince, MAX_SWITCHED_ON);
      return { userIds, hasMore: userIds.length === MAX_SWITCHED_ON };
    },

    async CreateCalendarFeed(request) {
      const userId = requireUserId(request.userId);
      const secret = randomBytes(SECRET_BYTES);
      const createTime = await writeForUser(dependencies, userId, async (transaction, user) => {
        await setFeed(transaction, userId, { feedHash: hashOfSecret(secret), createTime: user.now });
        return user.now;
      });
      const url = `${publicUrl}/calendar/${secret.toString('base64url')}.ics`;
      return { url, calendarFeed: toFeedMessage(createTime) };
    },

    async DeleteCalendarFeed(request) {
      return { deleted: await deleteFeed(database, requireUserId(request.userId)) };
    },

    async RegisterPushSubscription({ userId: text, endpoint, p256dh, auth }) {
      const userId = requireUserId(text);
      if (push === undefined)
        throw new ServiceError('INVALID_REQUEST', { message: 'Push is not set up: it needs VAPID_KEYS.' });
      const wrong = push.problemOf({ endpoint, p256dh, auth });
      if (wrong !== undefined) throw invalidField(wrong.field, wrong.problem);
      return writeForUser(dependencies, userId, async (transaction, user) => {
        const listed = await listSubscriptions(transaction, userId);
        const known = listed.find((each) => each.endpoint === endpoint);
        if (known?.p256dh === p256dh && known.auth === auth && known.vapidKey !== null)
          return { subscription: toSubscriptionMessage(known), unchanged: true };
        if (known === undefined && listed.length >= MAX_SUBSCRIPTIONS) throw tooMany();
        const createTime = user.now;
        const saved = await saveSubscription(transaction, {
          userId,
          subscriptionId: newId(createTime),
          endpoint,
          p256dh,
          auth,
          vapidKey: push.publicKey,
          createTime,
        });
        return { subscription: toSubscriptionMessage(saved) };
      });
    },

    async ListPushSubscriptions(request) {
      const subscriptions = await listSubscriptions(database, requireUserId(request.userId));
      return { subscriptions: subscriptions.map(toSubscriptionMessage) };
    },

    async DeletePushSubscription(request) {
      const userId = requireUserId(request.userId);
      const subscriptionId = requireId('push subscription', request.subscriptionId);
      if (!(await deleteSubscription(database, userId, subscriptionId)))
        throw notFound('push subscription', subscriptionId);
      return {};
    },

    async GetPushPublicKey() {
      return { publicKey: push?.publicKey ?? '' };
    },
  } satisfies Partial<AsyncHandlers<ReminderServiceHandlers>>;
}

function tooMany(): ServiceError {
  return new ServiceError('INVALID_REQUEST', {
    message: `A user has at most ${MAX_SUBSCRIPTIONS} push subscriptions.`,
  });
}

/** E-mail is on for a user of whom nothing is stored, and off without a reason for one whose data were deleted. */
function toEmailMessage(user: Partial<UserRow> | undefined): EmailChannelInput {
  const { emailOffReason = null, emailOffTime = null, deleteTime = null } = user ?? {};
  return {
    enabled: emailOffReason === null && deleteTime === null,
    offReason: enumName('EMAIL_OFF_REASON', emailOffReason),
    offTime: toOptionalTimestamp(emailOffTime),
  };
}

function toFeedMessage(createTime: Date): CalendarFeedInput {
  return { createTime: toTimestamp(createTime) };
}

export function toChannelsMessage(user: UserRow | undefined): GetChannelsResponseInput {
  const createTime = user?.feedCreateTime ?? null;
  return {
    email: toEmailMessage(user),
    calendarFeed: createTime === null ? null : toFeedMessage(createTime),
  };
}

/** Without the endpoint and the keys, which let their holder send. */
export function toSubscriptionMessage(subscription: Subscription): PushSubscriptionInput {
  return {
    subscriptionId: subscription.subscriptionId,
    endpointHost: new URL(subscription.endpoint).host,
    createTime: toTimestamp(subscription.createTime),
  };
}
