// The rpcs of reminders.v1.ReminderService for push subscriptions.
import type { PushSubscriptionInput } from '../../../generated/reminders/v1/PushSubscription.ts';
import type { ReminderServiceHandlers } from '../../../generated/reminders/v1/ReminderService.ts';
import { invalidField, ServiceError } from '../../platform/errors.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import { toTimestamp } from '../../platform/protobuf/timestamps.ts';
import type { PushAddress } from '../channels/channel.ts';
import type { SubscriptionProblem } from '../channels/push/subscription.ts';
import type { Dependencies } from '../dependencies.ts';
import { notFound, requireId, requireUserId } from '../requests.ts';
import { writeForUser } from '../users/locked-user.ts';
import {
  deleteSubscription,
  listSubscriptions,
  type Subscription,
  saveSubscription,
} from './subscriptions-repository.ts';

const MAX_SUBSCRIPTIONS = 10;

/** What the handlers know of push. */
export type PushSetUp = {
  /** Uncompressed point of P-256 in base64url, which browsers subscribe with. */
  publicKey: string;
  /** The first thing wrong with an address; undefined if messages may be sent to it. */
  problemOf(address: PushAddress): SubscriptionProblem | undefined;
};

export function createSubscriptionHandlers(
  dependencies: Dependencies & {
    /** undefined: push is not set up. */
    push: PushSetUp | undefined;
  },
): Pick<
  AsyncHandlers<ReminderServiceHandlers>,
  'RegisterPushSubscription' | 'ListPushSubscriptions' | 'DeletePushSubscription' | 'GetPushPublicKey'
> {
  const { database, now, newId, push } = dependencies;
  return {
    async RegisterPushSubscription({ userId, endpoint, p256dh, auth }) {
      requireUserId(userId);
      if (push === undefined)
        throw new ServiceError('INVALID_REQUEST', { message: 'Push is not set up: it needs VAPID_KEYS.' });
      const wrong = push.problemOf({ endpoint, p256dh, auth });
      if (wrong !== undefined) throw invalidField(wrong.field, wrong.problem);
      const subscription = await writeForUser(dependencies, userId, async (transaction) => {
        const others = await listSubscriptions(transaction, userId);
        const isNew = others.every((other) => other.endpoint !== endpoint);
        if (isNew && others.length >= MAX_SUBSCRIPTIONS) throw tooMany();
        const createTime = now();
        const subscriptionId = newId(createTime);
        return saveSubscription(transaction, { userId, subscriptionId, endpoint, p256dh, auth, createTime });
      });
      return { subscription: toSubscriptionMessage(subscription) };
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

function tooMany(): ServiceError {
  return new ServiceError('INVALID_REQUEST', {
    message: `A user has at most ${MAX_SUBSCRIPTIONS} push subscriptions.`,
  });
}
