// The rpcs of reminders.v1.ReminderService for deliveries.
import type { DeliveryInput } from '../../../generated/reminders/v1/Delivery.ts';
import type { ReminderServiceHandlers } from '../../../generated/reminders/v1/ReminderService.ts';
import { invalidField, ServiceError } from '../../platform/errors.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import { toTimestamp } from '../../platform/instants.ts';
import {
  decodePageToken,
  readPageSize,
  readTimePosition,
  type TimePageRequest,
  toPage,
} from '../../platform/page-token.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { enumName } from '../../platform/protobuf/enums.ts';
import { isSandboxUser, requireUserId } from '../../platform/uuid.ts';
import {
  ANY_CHANNEL,
  CHANNELS,
  fromChannelMessage,
  NO_SUBSCRIPTION,
  toChannelMessage,
} from '../channels/registry.ts';
import { findAddresses } from '../channels/sql.ts';
import type { Dependencies } from '../dependencies.ts';
import { localDate } from '../reminders/next-occurrence.ts';
import { writeForUser } from '../users/locked-user.ts';
import { type Delivery, idBelow, newDelivery } from './delivery.ts';
import { type KeepOptions, keepMessages } from './keep.ts';
import { findTestTimes, insertDeliveries, listDeliveries } from './sql.ts';

const MAX_TESTS = 5;
const HOUR_MS = 3_600_000;

export function createDeliveryHandlers(dependencies: Dependencies & KeepOptions) {
  const { database, newId, channels } = dependencies;
  return {
    async ListDeliveries(request) {
      const userId = requireUserId(request.userId);
      const pageSize = readPageSize(request.pageSize);
      const bound = ['ListDeliveries', userId];
      const from = readStart(request, bound);
      const rows = await listDeliveries(database, userId, {
        limit: pageSize + 1,
        from,
        order: 'newest first',
      });
      const { page, nextPageToken } = toPage(rows, pageSize, bound, ({ deliveryId }) => ({
        keys: [],
        id: deliveryId,
      }));
      return { deliveries: page.map(toDeliveryMessage), nextPageToken };
    },

    async SendTestReminder(request) {
      const userId = requireUserId(request.userId);
      const channel = fromChannelMessage(request.channel);
      if (channel === undefined) throw invalidField('channel', `must be ${ANY_CHANNEL}.`);
      const { addresses, needs, withoutAddress } = CHANNELS[channel];
      if (channels[channel] === undefined) throw invalidField('channel', needs);
      const isKept = isSandboxUser(userId);
      const { pending, recipient } = await writeForUser(
        dependencies,
        userId,
        async (transaction, { now, unsubscribeToken }, account) => {
          const user = (await findAddresses(transaction, [userId])).get(userId);
          const subscriptionIds = user === undefined ? [] : addresses(user);
          if (subscriptionIds.length === 0) throw invalidField('channel', withoutAddress);
          await requireFewer(transaction, userId, now);
          const reminderId = newId(now);
          const made = subscriptionIds.map((subscriptionId) =>
            newDelivery({
              userId,
              deliveryId: newId(now),
              reminderId,
              localDate: localDate(now, account.timeZone),
              channel,
              subscriptionId,
              isTest: true,
              skipReason: null,
              dueTime: now,
              createTime: now,
            }),
          );
          if (!isKept) await insertDeliveries(transaction, made);
          return { pending: made, recipient: { account, reminder: null, unsubscribeToken } };
        },
      );
      if (!isKept) return { deliveries: pending.map(toDeliveryMessage) };
      // Scheduling is asked between two transactions, so that a slow answer holds neither a connection nor the user's row.
      const kept = await keepMessages(dependencies, pending, recipient);
      await writeForUser(dependencies, userId, async (transaction, { now }) => {
        await requireFewer(transaction, userId, now);
        await insertDeliveries(transaction, kept);
      });
      return { deliveries: kept.map(toDeliveryMessage) };
    },
  } satisfies Partial<AsyncHandlers<ReminderServiceHandlers>>;
}

/** The ID after which the page begins. */
function readStart(request: TimePageRequest, bound: readonly string[]): string | undefined {
  if (request.beforeTime === null && request.beforeId === '')
    return decodePageToken(request.pageToken, bound, [])?.id;
  const position = readTimePosition(request, bound);
  return position && idBelow(position);
}

/** @throws RATE_LIMITED until the oldest of five tests is an hour old. */
async function requireFewer(transaction: Queryable, userId: string, now: Date): Promise<void> {
  const times = await findTestTimes(transaction, userId, new Date(now.getTime() - HOUR_MS));
  const [oldest] = times.slice(-MAX_TESTS);
  if (times.length < MAX_TESTS || oldest === undefined) return;
  const retryAfterSeconds = Math.ceil((oldest.getTime() + HOUR_MS - now.getTime()) / 1000);
  throw new ServiceError('RATE_LIMITED', {
    message: `At most ${MAX_TESTS} tests an hour are sent to a user.`,
    retryAfterSeconds,
  });
}

export function toDeliveryMessage(delivery: Delivery): DeliveryInput {
  const { skipReason, subscriptionId, keptSubject, keptText } = delivery;
  return {
    deliveryId: delivery.deliveryId,
    reminderId: delivery.isTest ? '' : delivery.reminderId,
    localDate: delivery.localDate,
    channel: toChannelMessage(delivery.channel),
    subscriptionId: subscriptionId === NO_SUBSCRIPTION ? '' : subscriptionId,
    state: enumName('DELIVERY_STATE', delivery.state),
    skipReason: enumName('SKIP_REASON', skipReason),
    failure: delivery.failure ?? '',
    dueTime: toTimestamp(delivery.dueTime),
    updateTime: toTimestamp(delivery.updateTime),
    attempts: delivery.attempts,
    isTest: delivery.isTest,
    createTime: toTimestamp(delivery.createTime),
    keptMessage: keptText === null ? null : { subject: keptSubject ?? '', text: keptText },
  };
}
