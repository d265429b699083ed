// The rpcs of accounts.v1.UserEventService.
import type { UserEventInput } from '../../../generated/accounts/v1/UserEvent.ts';
import type { UserEventKind } from '../../../generated/accounts/v1/UserEventKind.ts';
import type { UserEventServiceHandlers } from '../../../generated/accounts/v1/UserEventService.ts';
import { invalidField } from '../../platform/errors.ts';
import type { AsyncHandlers, CallContext } from '../../platform/grpc/handlers.ts';
import { fromTimestamp, toTimestamp } from '../../platform/instants.ts';
import {
  byTime,
  decodeTimePosition,
  readPageSize,
  readTimePosition,
  toPage,
} from '../../platform/page-token.ts';
import { isForeignKeyViolation } from '../../platform/postgres/faults.ts';
import { isStorable } from '../../platform/text.ts';
import { readUuid, requireUuid } from '../../platform/uuid.ts';
import { toApiKeyMessage } from '../keys/messages.ts';
import { keptSince, MAX_REQUEST_ID_CHARACTERS, toRefusedMessage } from '../keys/requests-handlers.ts';
import { findRefusedRequests } from '../keys/requests-sql.ts';
import { requireUserId, type UserDependencies, userNotFound } from '../users/handlers.ts';
import {
  findEventsOfRequest,
  insertUserEvent,
  listAllEvents,
  listUserEvents,
  type UserEvent,
} from './sql.ts';

const KINDS: readonly UserEventKind[] = ['USER_EVENT_KIND_KEY', 'USER_EVENT_KIND_OPERATOR'];
const ACTION = /^[a-zA-Z]{1,40}$/;
const MAX_SUBJECTS = 100;
const MAX_FIELDS = 20;
const MAX_EXCLUDED_ACTIONS = 20;
const MAX_ACTOR_CHARACTERS = 200;
const MAX_FOUND = 20;

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
        eventTime,
        eventId: newId(eventTime),
        action: requireAction(request.action),
        subjectIds: requireSubjectIds(request.subjectIds),
        snoozeId: readSnoozeId(request.snoozeId),
        fields: requireFields(request.fields),
        ...originOf(context),
        isOfKey: false,
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
      const kinds = request.kinds.length === 0 ? KINDS : request.kinds;
      if (!kinds.every((kind) => KINDS.includes(kind)))
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

    async ListAllEvents(request) {
      const pageSize = readPageSize(request.pageSize);
      const filter = {
        actor: requireShortActor(request.actor),
        action: request.action === '' ? '' : requireAction(request.action),
        since: request.sinceTime && fromTimestamp(request.sinceTime, 'since_time'),
        until: request.untilTime && fromTimestamp(request.untilTime, 'until_time'),
      };
      const list = ['ListAllEvents', ...Object.values(filter)];
      const after = decodeTimePosition(request.pageToken, list);
      const events = await listAllEvents(database, { limit: pageSize + 1, after, filter });
      const { page, nextPageToken } = toPage(events, pageSize, list, ({ eventTime, eventId }) =>
        byTime(eventTime, eventId),
      );
      return { events: page.map(toUserEventMessage), nextPageToken };
    },

    async FindRequest(request) {
      const requestId = requireRequestId(request.requestId);
      const [events, refusals] = await Promise.all([
        findEventsOfRequest(database, requestId, MAX_FOUND),
        findRefusedRequests(database, keptSince(now()), requestId, MAX_FOUND),
      ]);
      return {
        events: events.map(toUserEventMessage),
        refusals: refusals.map(({ key, request }) => ({
          apiKey: toApiKeyMessage(key),
          request: toRefusedMessage(request),
        })),
      };
    },
  };
}

function requireShortActor(actor: string): string {
  if (actor.length <= MAX_ACTOR_CHARACTERS && isStorable(actor)) return actor;
  throw invalidField('actor', `must have at most ${MAX_ACTOR_CHARACTERS} characters.`);
}

function requireRequestId(requestId: string): string {
  const { length } = requestId;
  if (length >= 1 && length <= MAX_REQUEST_ID_CHARACTERS && isStorable(requestId)) return requestId;
  throw invalidField('request_id', `must have 1 to ${MAX_REQUEST_ID_CHARACTERS} characters.`);
}

/** Who does something, in which request. `caller`: a program, or a program and a person, as "gateway/olga". */
export function originOf({ caller, requestId }: Pick<CallContext, 'caller' | 'requestId'>) {
  return {
    actor: caller,
    requestId,
    isOfPerson: caller.includes('/'),
  };
}

/** The name of an action, which can hold no text of a person. */
function requireAction(action: string): string {
  if (ACTION.test(action)) return action;
  throw invalidField('action', 'must have 1 to 40 letters.');
}

function requireSubjectIds(subjectIds: readonly string[]): readonly string[] {
  const ids = subjectIds.flatMap((text) => readUuid(text) ?? []);
  if (subjectIds.length <= MAX_SUBJECTS && ids.length === subjectIds.length) return ids;
  throw invalidField('subject_ids', `must be at most ${MAX_SUBJECTS} UUIDs.`);
}

function requireFields(fields: readonly string[]): readonly string[] {
  if (fields.length <= MAX_FIELDS && fields.every((field) => ACTION.test(field))) return fields;
  throw invalidField('fields', `must be at most ${MAX_FIELDS} names of 1 to 40 letters.`);
}

/** null where none is given. */
function readSnoozeId(text: string): string | null {
  return text === '' ? null : requireUuid('snooze_id', text);
}

function requireExcludedActions(actions: readonly string[]): readonly string[] {
  if (actions.length <= MAX_EXCLUDED_ACTIONS && actions.every((action) => ACTION.test(action)))
    return actions;
  throw invalidField('excluded_actions', `must be at most ${MAX_EXCLUDED_ACTIONS} actions.`);
}

function toUserEventMessage(event: UserEvent): UserEventInput {
  return {
    userId: event.userId,
    eventId: event.eventId,
    eventTime: toTimestamp(event.eventTime),
    action: event.action,
    actor: event.actor,
    requestId: event.requestId,
    subjectIds: [...event.subjectIds],
    snoozeId: event.snoozeId ?? '',
    fields: [...event.fields],
    kind: event.isOfKey ? 'USER_EVENT_KIND_KEY' : 'USER_EVENT_KIND_OPERATOR',
  };
}
