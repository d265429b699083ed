// The rpcs of reminders.v1.ReminderService for a user's e-mail switch and calendar address.
import type { ReminderServiceHandlers } from '../../../generated/reminders/v1/ReminderService.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import type { Dependencies } from '../dependencies.ts';
import { requireUserId } from '../requests.ts';
import { toChannelsMessage, toEmailMessage, toFeedMessage } from './channels-mapper.ts';
import { writeForUser } from './locked-user.ts';
import { hashOfSecret, SECRET_BYTES } from './secrets.ts';
import { deleteFeed, findUser, setEmailOff, setFeed } from './users-repository.ts';

export function createChannelsHandlers(
  dependencies: Dependencies & {
    /** What links begin with, without a slash at the end. */
    publicUrl: string;
  },
): Pick<
  AsyncHandlers<ReminderServiceHandlers>,
  'GetChannels' | 'SetEmailEnabled' | 'CreateCalendarFeed' | 'DeleteCalendarFeed'
> {
  const { database, now, randomBytes, publicUrl } = dependencies;
  return {
    async GetChannels(request) {
      return toChannelsMessage(await findUser(database, requireUserId(request.userId)));
    },

    async SetEmailEnabled(request) {
      const userId = requireUserId(request.userId);
      const off = request.enabled ? null : ({ reason: 'switched off', time: now() } as const);
      const user = await writeForUser(dependencies, userId, (transaction) =>
        setEmailOff(transaction, userId, off),
      );
      return { email: toEmailMessage(user) };
    },

    async CreateCalendarFeed(request) {
      const userId = requireUserId(request.userId);
      const secret = randomBytes(SECRET_BYTES);
      const createTime = now();
      await writeForUser(dependencies, userId, (transaction) =>
        setFeed(transaction, userId, { feedHash: hashOfSecret(secret), createTime }),
      );
      const url = `${publicUrl}/calendar/${secret.toString('base64url')}.ics`;
      return { url, calendarFeed: toFeedMessage(createTime) };
    },

    async DeleteCalendarFeed(request) {
      return { deleted: await deleteFeed(database, requireUserId(request.userId)) };
    },
  };
}
