// The rpcs of accounts.v1.UserEventService.
import type { UserEventKind } from '../../../generated/accounts/v1/UserEventKind.ts';
import type { UserEventServiceHandlers } from '../../../generated/accounts/v1/UserEventService.ts';
import { invalidField } from '../../platform/errors.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import { byTime, readPageSize, readTimePosition, toPage } from '../../platform/page-token.ts';
import { isForeignKeyViolation } from '../../platform/postgres/faults.ts';
import { toUserEventMessage } from '../mapper.ts';
import { insertUserEvent, listUserEvents } from '../repositories/user-events-repository.ts';
import {
  requireAction,
  requireExcludedActions,
  requireSubjectIds,
  requireUserId,
  userNotFound,
} from '../requests.ts';
import { originOf } from '../user-event.ts';
import type { UserDependencies } from './users-handlers.ts';

const KNOWN: readonly UserEventKind[] = ['USER_EVENT_KIND_KEY', 'USER_EVENT_KIND_OPERATOR'];

export function createUserEventHandlers({
  database,
  now,
  newId,
}: UserDependencies): AsyncHandlers<UserEventServiceHandlers> {
  return {
    async RecordUserEvent(request, context) {
      const eventTime = now();
      const event = {
        userId: requireUserId(request.userId),
        ...{ eventTime, eventId: newId(eventTime), isOfKey: false },
        action: requireAction(request.action),
        subjectIds: requireSubjectIds(request.subjectIds),
        ...originOf(context),
        isOfPerson: true,
      };
      await insertUserEvent(database, event).catch((error: unknown) => {
        throw isForeignKeyViolation(error) ? userNotFound() : error;
      });
      return {};
    },

    async ListUserEvents(request) {
      const userId = requireUserId(request.userId);
      const pageSize = readPageSize(request.pageSize);
      const kinds = request.kinds.length === 0 ? KNOWN : request.kinds;
      if (!kinds.every((kind) => KNOWN.includes(kind)))
        throw invalidField('kinds', 'must be USER_EVENT_KIND_KEY or USER_EVENT_KIND_OPERATOR.');
      const filter = {
        ofKeys: kinds.includes('USER_EVENT_KIND_KEY'),
        ofPersons: kinds.includes('USER_EVENT_KIND_OPERATOR'),
        excludedActions: requireExcludedActions(request.excludedActions),
      };
      const list = ['ListUserEvents', userId, ...Object.values(filter)];
      const after = readTimePosition(request, list);
      const events = await listUserEvents(database, userId, { limit: pageSize + 1, after, filter });
      const { page, nextPageToken } = toPage(events, pageSize, list, ({ eventTime, eventId }) =>
        byTime(eventTime, eventId),
      );
      return { events: page.map(toUserEventMessage), nextPageToken };
    },
  };
}
