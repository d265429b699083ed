// The SQL of events of users: what was done, by whom, in which request; kept for 90 days.
import type { TimePage } from '../../platform/page-token.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { insertRows } from '../../platform/postgres/insert.ts';
import { MAX_UUID } from '../../platform/uuid.ts';

export type UserEvent = {
  userId: string;
  eventTime: Date;
  eventId: string;
  /** The name of a mutation of the gateway. */
  action: string;
  actor: string;
  requestId: string;
  subjectIds: readonly string[];
  /** null: it is not about a snooze. */
  snoozeId: string | null;
  /** Names of the fields that an update set. */
  fields: readonly string[];
  isOfKey: boolean;
  /** Whether a person did it, whom the calling program names. */
  isOfPerson: boolean;
};

/** @throws pg's foreign key violation if there is no such user. */
export function insertUserEvent(db: Queryable, event: UserEvent): Promise<void> {
  return insertRows(db, 'accounts.user_events', [event]);
}

/** Columns aliased to the fields of UserEvent. */
const EVENT_COLUMNS = `e.user_id AS "userId", e.event_time AS "eventTime", e.event_id AS "eventId", e.action, e.actor,
             e.request_id AS "requestId", e.subject_ids AS "subjectIds", e.is_of_key AS "isOfKey",
             e.is_of_person AS "isOfPerson", e.snooze_id AS "snoozeId", e.fields`;

type EventFilter = { ofKeys: boolean; ofPersons: boolean; excludedActions: readonly string[] };

/** Newest first, from after the event with the time and ID of `after`. */
export function listUserEvents(
  db: Queryable,
  userId: string,
  { limit, after, filter }: TimePage & { filter: EventFilter },
): Promise<UserEvent[]> {
  return db.query<UserEvent>({
    name: 'list-user-events',
    text: `SELECT ${EVENT_COLUMNS}
           FROM accounts.user_events e
           WHERE e.user_id = $1 AND (e.event_time, e.event_id) < ($3, $4)
             AND (e.is_of_key AND $5 OR e.is_of_person AND $6) AND e.action <> ALL ($7::text[])
           ORDER BY e.event_time DESC, e.event_id DESC
           LIMIT $2`,
    values: [
      userId,
      limit,
      after?.time ?? 'infinity',
      after?.id ?? MAX_UUID,
      filter.ofKeys,
      filter.ofPersons,
      filter.excludedActions,
    ],
  });
}

/**
 * Events of all users, newest first, from after the event with the time and ID of `after`. `actor`: in full, or the
 * person's name alone. Empty texts and nulls do not filter.
 */
export function listAllEvents(
  db: Queryable,
  {
    limit,
    after,
    filter,
  }: TimePage & { filter: { actor: string; action: string; since: Date | null; until: Date | null } },
): Promise<UserEvent[]> {
  return db.query<UserEvent>({
    name: 'list-all-events',
    text: `SELECT ${EVENT_COLUMNS}
           FROM accounts.user_events e
           WHERE (e.event_time, e.event_id) < ($2, $3) AND e.event_time >= $4 AND e.event_time < $5
             AND ($6 = '' OR $6 IN (e.actor, substr(e.actor, position('/' IN e.actor) + 1))) AND ($7 = '' OR e.action = $7)
           ORDER BY e.event_time DESC, e.event_id DESC
           LIMIT $1`,
    values: [
      limit,
      after?.time ?? 'infinity',
      after?.id ?? MAX_UUID,
      filter.since ?? '-infinity',
      filter.until ?? 'infinity',
      filter.actor,
      filter.action,
    ],
  });
}

/** SQL: whether the request ID of `alias` is $1, or ends with it where that is 8 characters long. */
export const isRequest = (alias: string) =>
  `right(${alias}.request_id, 8) = right($1::text, 8) AND (${alias}.request_id = $1 OR length($1) = 8)`;

/** What was done in a request, newest first. */
export function findEventsOfRequest(db: Queryable, requestId: string, limit: number): Promise<UserEvent[]> {
  return db.query<UserEvent>({
    name: 'find-events-of-request',
    text: `SELECT ${EVENT_COLUMNS} FROM accounts.user_events e
           WHERE ${isRequest('e')} ORDER BY e.event_time DESC, e.event_id DESC LIMIT $2`,
    values: [requestId, limit],
  });
}
