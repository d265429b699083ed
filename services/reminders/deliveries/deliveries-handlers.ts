// The rpcs of reminders.v1.ReminderService for deliveries.
import type { ReminderServiceHandlers } from '../../../generated/reminders/v1/ReminderService.ts';
import { invalidField, ServiceError } from '../../platform/errors.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import {
  decodePageToken,
  readPageSize,
  readTimePosition,
  type TimePageRequest,
  toPage,
} from '../../platform/page-token.ts';
import type { Dependencies } from '../dependencies.ts';
import { localDate } from '../reminders/next-occurrence.ts';
import { requireUserId } from '../requests.ts';
import { listSubscriptions } from '../subscriptions/subscriptions-repository.ts';
import { writeForUser } from '../users/locked-user.ts';
import { insertDeliveries } from './claims-repository.ts';
import { findTestTimes, listDeliveries } from './deliveries-repository.ts';
import { type Delivery, NO_SUBSCRIPTION } from './delivery.ts';
import { toDeliveryMessage } from './delivery-mapper.ts';
import { idBelow } from './position.ts';

const MAX_TESTS = 5;
const HOUR_MS = 3_600_000;

export function createDeliveryHandlers(
  dependencies: Dependencies & { isPushSetUp: boolean },
): Pick<AsyncHandlers<ReminderServiceHandlers>, 'ListDeliveries' | 'SendTestReminder'> {
  const { database, now, newId, isPushSetUp } = dependencies;
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

    async SendTestReminder({ userId, channel }) {
      requireUserId(userId);
      if (channel !== 'CHANNEL_EMAIL' && channel !== 'CHANNEL_PUSH')
        throw invalidField('channel', 'must be CHANNEL_EMAIL or CHANNEL_PUSH.');
      const byEmail = channel === 'CHANNEL_EMAIL';
      if (!byEmail && !isPushSetUp) throw invalidField('channel', 'is not set up: push needs VAPID_KEYS.');
      const deliveries = await writeForUser(dependencies, userId, async (transaction, user, account) => {
        if (byEmail && user.emailOffReason !== null)
          throw invalidField('channel', 'is off: e-mail was switched off for this user.');
        const subscriptions = byEmail ? [] : await listSubscriptions(transaction, userId);
        const addresses = byEmail
          ? [NO_SUBSCRIPTION]
          : subscriptions.map(({ subscriptionId }) => subscriptionId);
        if (addresses.length === 0) throw invalidField('channel', 'has no push subscription.');
        const createTime = now();
        requireFewer(
          await findTestTimes(transaction, userId, new Date(createTime.getTime() - HOUR_MS)),
          createTime,
        );
        const test = {
          userId,
          reminderId: newId(createTime),
          localDate: localDate(createTime, account.timeZone),
          channel: byEmail ? 'email' : 'push',
          isTest: true,
          state: 'pending',
          skipReason: null,
          failure: null,
          dueTime: createTime,
          createTime,
          updateTime: createTime,
          attempts: 0,
        } as const;
        const made = addresses.map(
          (subscriptionId): Delivery => ({ ...test, deliveryId: newId(createTime), subscriptionId }),
        );
        await insertDeliveries(transaction, made);
        return made;
      });
      return { deliveries: deliveries.map(toDeliveryMessage) };
    },
  };
}

/** The ID after which the page begins. */
function readStart(request: TimePageRequest, bound: readonly string[]): string | undefined {
  if (request.beforeTime === null && request.beforeId === '')
    return decodePageToken(request.pageToken, bound, [])?.id;
  const position = readTimePosition(request, bound);
  return position && idBelow(position);
}

/** @throws RATE_LIMITED until the oldest of five tests is an hour old. */
function requireFewer(times: readonly Date[], now: Date): void {
  const [oldest] = times.slice(-MAX_TESTS);
  if (times.length < MAX_TESTS || oldest === undefined) return;
  const retryAfterSeconds = Math.ceil((oldest.getTime() + HOUR_MS - now.getTime()) / 1000);
  throw new ServiceError('RATE_LIMITED', {
    message: `At most ${MAX_TESTS} tests an hour are sent to a user.`,
    retryAfterSeconds,
  });
}
