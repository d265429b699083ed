// The timeline of a user: reviews, snoozes, reminders and events of several services, merged by time.
import type { UserEvent } from '../../generated/accounts/v1/UserEvent.ts';
import type { UserEventKind } from '../../generated/accounts/v1/UserEventKind.ts';
import type { Resolvers, TimelineKind } from '../../generated/gateway/resolvers.ts';
import { hasReason, invalidField } from '../../services/platform/errors.ts';
import { type Timestamp, toTimestamp } from '../../services/platform/instants.ts';
import { isUuid } from '../../services/platform/uuid.ts';
import { countOf, type Page, type PageArguments } from '../connections.ts';
import type { GatewayContext } from '../context.ts';
import { toTime } from '../mapper.ts';
import type { TimelineEventNode } from '../nodes.ts';
import { materialOf } from './material.ts';

/** The row after which a page begins. */
type TimelinePosition = { timeMs: number; id: string };

/** `beforeTime` and `beforeId`: absent for the first page. */
type TimelineRequest = { userId: string; pageSize: number; beforeTime?: Timestamp; beforeId?: string };
type TimelineSource = {
  kinds: readonly TimelineKind[];
  read: (
    context: GatewayContext,
    request: TimelineRequest,
    kinds: readonly TimelineKind[],
  ) => Promise<Page<TimelineEventNode>>;
};

/** One service each, so that one that does not answer is missing alone. */
const TIMELINE_SOURCES: readonly TimelineSource[] = [
  { kinds: ['REVIEW'], read: readReviews },
  { kinds: ['SNOOZE'], read: readSnoozes },
  { kinds: ['REMINDER'], read: readDeliveries },
  { kinds: ['KEY', 'OPERATOR'], read: readEvents },
];

async function readReviews({ budget, clients }: GatewayContext, request: TimelineRequest) {
  const { userId } = request;
  const { reviews, nextPageToken } = await budget.read(clients.reviews.listReviews, request);
  const rows = reviews.map(
    (message): TimelineEventNode => ({
      userId,
      id: message.reviewId,
      kind: 'REVIEW',
      timeMs: toTime(message.reviewTime),
      requestId: message.requestId || null,
      apiKeyId: message.apiKeyId || undefined,
      subjectIds: [message.materialId],
      materialId: message.materialId,
      review: { userId, message },
    }),
  );
  return { rows, nextPageToken };
}

async function readSnoozes({ budget, clients }: GatewayContext, request: TimelineRequest) {
  const { userId } = request;
  const { snoozes, nextPageToken } = await budget.read(clients.snoozes.listSnoozes, request);
  const rows = snoozes.map(
    (message): TimelineEventNode => ({
      userId,
      id: message.snoozeId,
      kind: 'SNOOZE',
      timeMs: toTime(message.createTime),
      actor: message.actor || null,
      requestId: message.requestId || null,
      apiKeyId: message.apiKeyId || undefined,
      subjectIds: message.materialIds,
      snoozeId: message.snoozeId,
      materialId: message.materialIds[0],
      snooze: { userId, message },
    }),
  );
  return { rows, nextPageToken };
}

/** None with REMINDERS=off. */
async function readDeliveries({ budget, clients }: GatewayContext, request: TimelineRequest) {
  if (clients.reminders === undefined) return { rows: [], nextPageToken: '' };
  const { deliveries, nextPageToken } = await budget.read(clients.reminders.listDeliveries, request);
  const rows = deliveries.map(
    (delivery): TimelineEventNode => ({
      userId: request.userId,
      id: delivery.deliveryId,
      kind: 'REMINDER',
      timeMs: toTime(delivery.createTime),
      subjectIds: delivery.reminderId ? [delivery.reminderId] : [],
      delivery,
    }),
  );
  return { rows, nextPageToken };
}

const EVENT_KINDS: Partial<Record<TimelineKind, UserEventKind>> = {
  KEY: 'USER_EVENT_KIND_KEY',
  OPERATOR: 'USER_EVENT_KIND_OPERATOR',
};
/** Actions whose first subject is a material. */
const OF_MATERIALS = /Material|Review|Snooze/;

async function readEvents(
  { budget, clients }: GatewayContext,
  request: TimelineRequest,
  kinds: readonly TimelineKind[],
) {
  const { events, nextPageToken } = await budget.read(clients.userEvents.listUserEvents, {
    ...request,
    kinds: kinds.flatMap((kind) => EVENT_KINDS[kind] ?? []),
    // The timeline has the snooze itself, with who made it.
    excludedActions: kinds.includes('SNOOZE') ? ['snoozeMaterials', 'spreadBacklog'] : [],
  });
  return { rows: events.map(toEventNode), nextPageToken };
}

/** What accounts recorded, as an event of a timeline. */
export function toEventNode(event: UserEvent): TimelineEventNode {
  const { userId, eventId, eventTime, kind, action, actor, requestId, subjectIds, snoozeId, fields } = event;
  return {
    userId,
    action,
    actor,
    requestId,
    subjectIds,
    fields,
    id: eventId,
    timeMs: toTime(eventTime),
    snoozeId: snoozeId || undefined,
    kind: kind === 'USER_EVENT_KIND_KEY' ? 'KEY' : 'OPERATOR',
    materialId: OF_MATERIALS.test(action) ? subjectIds[0] : undefined,
  };
}

type Arguments = PageArguments & { kinds?: readonly TimelineKind[] | null };

/** All kinds of events. */
export const KINDS: readonly TimelineKind[] = TIMELINE_SOURCES.flatMap(({ kinds }) => kinds);

/** A page of the events of `kinds`, newest first; all kinds where none is named. */
export async function timeline(context: GatewayContext, userId: string, { kinds, first, after }: Arguments) {
  const count = countOf(first);
  const position = readCursor(after);
  const request = {
    userId,
    pageSize: count,
    ...(position && { beforeTime: toTimestamp(new Date(position.timeMs)), beforeId: position.id }),
  };
  const wanted = kinds && kinds.length > 0 ? KINDS.filter((kind) => kinds.includes(kind)) : KINDS;
  const sources = TIMELINE_SOURCES.filter((source) => source.kinds.some((kind) => wanted.includes(kind)));
  // null where the service does not answer.
  const reads = await Promise.all(
    sources.map((source) =>
      source.read(context, request, wanted).catch((error) => missing(context, source, error)),
    ),
  );
  const rows = reads.flatMap((read) => read?.rows ?? []).toSorted(newestFirst);
  const nodes = rows.slice(0, count);
  const [newest, last] = [nodes[0], nodes.at(-1)];
  return {
    nodes,
    pageInfo: {
      hasNextPage: rows.length > count || reads.some((read) => read?.nextPageToken),
      hasPreviousPage: false as const,
      startCursor: newest ? toCursor(newest) : null,
      endCursor: last ? toCursor(last) : null,
    },
    missing: sources
      .filter((_, index) => reads[index] === null)
      .flatMap((source) => source.kinds.filter((kind) => wanted.includes(kind)))
      .map((kind) => ({ kind, requestId: context.call.requestId })),
  };
}

/** null where the service does not answer, which is logged. @throws any other error. */
function missing({ logger, call }: GatewayContext, { kinds }: TimelineSource, error: unknown): null {
  if (!hasReason(error, 'UNAVAILABLE')) throw error;
  logger.warn({ err: error.cause ?? error, kinds, requestId: call.requestId }, 'a timeline lacks a part');
  return null;
}

/** As each source sorts: the ID decides between events of one millisecond. */
function newestFirst(a: TimelineEventNode, b: TimelineEventNode): number {
  if (a.timeMs !== b.timeMs) return b.timeMs - a.timeMs;
  return a.id < b.id ? 1 : -1;
}

function toCursor({ timeMs, id }: TimelinePosition): string {
  return Buffer.from(`${timeMs} ${id}`).toString('base64url');
}

const MAX_CURSOR_CHARACTERS = 100;
const LATEST_MS = Date.UTC(9999, 0, 1);

function readCursor(cursor: string | null | undefined): TimelinePosition | undefined {
  if (cursor === null || cursor === undefined) return undefined;
  const text = cursor.length <= MAX_CURSOR_CHARACTERS ? Buffer.from(cursor, 'base64url').toString() : '';
  const [, time = '', id = ''] = /^(\d{1,15}) (\S{36})$/.exec(text) ?? [];
  if (time === '' || !isUuid(id) || Number(time) >= LATEST_MS)
    throw invalidField('after', 'must be a cursor of this connection.');
  return { timeMs: Number(time), id };
}

export const timelineResolvers: Resolvers = {
  TimelineEvent: {
    at: ({ timeMs }) => timeMs,
    fields: ({ fields }) => fields ?? [],
    apiKey: ({ apiKeyId }, _arguments, { loaders }) =>
      apiKeyId === undefined ? null : loaders.apiKey(apiKeyId).catch(nullIfUnavailable),
    apiKeys: async ({ kind, subjectIds }, _arguments, { loaders }) => {
      if (kind !== 'KEY') return [];
      const found = await Promise.all(subjectIds.map((id) => loaders.apiKey(id).catch(nullIfUnavailable)));
      return found.filter((key) => key !== null);
    },
    material: ({ userId, materialId }, _arguments, context) =>
      materialId === undefined ? null : materialOf(context, { userId, materialId }).catch(nullIfUnavailable),
  },
};

function nullIfUnavailable(error: unknown): null {
  if (hasReason(error, 'UNAVAILABLE')) return null;
  throw error;
}
