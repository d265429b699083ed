// The rpcs of reminders.v1.ReminderService for all that is stored of a user: export and deletion.
import type { ReminderServiceHandlers } from '../../../generated/reminders/v1/ReminderService.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import { toTimestamp } from '../../platform/instants.ts';
import { allRows } from '../../platform/postgres/database.ts';
import { requireSandboxUserId, requireUserId } from '../../platform/uuid.ts';
import { toChannelsMessage, toSubscriptionMessage } from '../channels/handlers.ts';
import { findUser, listSubscriptions } from '../channels/sql.ts';
import type { Delivery } from '../deliveries/delivery.ts';
import { toDeliveryMessage } from '../deliveries/handlers.ts';
import { listDeliveries } from '../deliveries/sql.ts';
import type { Dependencies } from '../dependencies.ts';
import { toReminderMessage } from '../reminders/handlers.ts';
import { listReminders } from '../reminders/sql.ts';
import { deleteUserData } from './delete-user-data.ts';

const ROWS_AT_A_TIME = 500;

export function createUserDataHandlers({
  database,
  now,
  followTestClock,
}: Pick<Dependencies, 'database' | 'now'> & {
  followTestClock: (userId: string) => Promise<Date>;
}) {
  return {
    async FollowTestClock(request) {
      const time = await followTestClock(requireSandboxUserId(request.userId));
      return { followTime: toTimestamp(time) };
    },

    async ExportUserData(request, { signal }, send) {
      const userId = requireUserId(request.userId);
      await send({ channels: toChannelsMessage(await findUser(database, userId)) });
      for (const reminder of await listReminders(database, userId))
        await send({ reminder: toReminderMessage(reminder) });
      for (const subscription of await listSubscriptions(database, userId))
        await send({ subscription: toSubscriptionMessage(subscription) });
      const deliveries = allRows((after: Delivery | undefined) =>
        listDeliveries(database, userId, {
          limit: ROWS_AT_A_TIME,
          from: after?.deliveryId,
          order: 'oldest first',
        }),
      );
      for await (const delivery of deliveries) {
        if (signal.aborted) return;
        await send({ delivery: toDeliveryMessage(delivery) });
      }
    },

    async DeleteUserData(request) {
      const userId = requireUserId(request.userId);
      return deleteUserData(database, userId, now);
    },
  } satisfies Partial<AsyncHandlers<ReminderServiceHandlers>>;
}
