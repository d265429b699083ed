// The rpc of reminders.v1.ReminderService that lists whose e-mail was switched off lately, of all users.
import type { ReminderServiceHandlers } from '../../../generated/reminders/v1/ReminderService.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import { byTime, decodeTimePosition, readPageSize, toPage } from '../../platform/page-token.ts';
import type { Dependencies } from '../dependencies.ts';
import { toEmailMessage } from './channels-mapper.ts';
import { countEmailOff, listEmailOff } from './email-off-repository.ts';

const LISTED_MS = 7 * 86_400_000;
const LIST = ['ListEmailOffUsers'];

export function createEmailOffHandlers({
  database,
  now,
}: Pick<Dependencies, 'database' | 'now'>): Pick<
  AsyncHandlers<ReminderServiceHandlers>,
  'ListEmailOffUsers'
> {
  return {
    async ListEmailOffUsers(request) {
      const pageSize = readPageSize(request.pageSize);
      const after = decodeTimePosition(request.pageToken, LIST);
      const since = new Date(now().getTime() - LISTED_MS);
      const [rows, totalSize] = await Promise.all([
        listEmailOff(database, since, { limit: pageSize + 1, after }),
        countEmailOff(database, since),
      ]);
      const { page, nextPageToken } = toPage(rows, pageSize, LIST, ({ emailOffTime, userId }) =>
        byTime(emailOffTime, userId),
      );
      const users = page.map((user) => ({ userId: user.userId, email: toEmailMessage(user) }));
      return { users, nextPageToken, totalSize };
    },
  };
}
