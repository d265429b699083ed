// The timeline of a user: reviews, snoozes, reminders and events of several services, merged by time.
import type { UserEvent } from '../../generated/accounts/v1/UserEvent.ts';
import type { UserEventKind } from '../../generated/accounts/v1/UserEventKind.ts';
import type { TimelineEventResolvers, TimelineKind } from '../../generated/gateway/resolvers.ts';
import { hasReason, invalidField } from '../../services/platform/errors.ts';
import { type Timestamp, toTimestamp } from '../../services/platform/instants.ts';
import { isUuid } from '../../services/platform/uuid.ts';
import { countOf, type PageArguments } from '../connections.ts';
import type { GatewayContext } from '../context.ts';
import { toTime } from '../mapper.ts';
import type { TimelineEventNode } from '../nodes.ts';
import { materialOf } from './material.ts';

/** The row after which a page begins. */
type TimelinePosition = { timeMs: number; id: string };

type Asked = {
  userId: string;
  pageSize: number;
  /** Fields of the request for the rows after a position; empty for the first page. */
  start: { beforeTime?: Timestamp; beforeId?: string };
  kinds: readonly TimelineKind[];
};
type Rows = { rows: TimelineEventNode[]; nextPageToken: string };
type TimelineSource = {
  kinds: readonly TimelineKind[];
  read: (context: GatewayContext, asked: Asked) => Promise<Rows>;
};

/** One service each, so that one that does not answer is missing alone. */
const TIMELINE_SOURCES: readonly TimelineSource[] = [
  { kinds: ['REVIEW'], read: readReviews },
  { kinds: ['SNOOZE'], read: readSnoozes },
  { kinds: ['REMINDER'], read: readDeliveries },
  { kinds: ['KEY', 'OPERATOR'], read: readEvents },
];

function startAfter(position: TimelinePosition | undefined): Asked['start'] {
  if (position === undefined) return {};
  return { beforeTime: toTimestamp(new Date(position.timeMs)), beforeId: position.id };
}

async function readReviews({ budget, clients }: GatewayContext, { userId, pageSize, start }: Asked) {
  const answer = await budget.read(clients.reviews.listReviews, { userId, pageSize, ...start });
  const rows = answer.reviews.map(
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
  return { rows, nextPageToken: answer.nextPageToken };
}

async function readSnoozes({ budget, clients }: GatewayContext, { userId, pageSize, start }: Asked) {
  const answer = await budget.read(clients.snoozes.listSnoozes, { userId, pageSize, ...start });
  const rows = answer.snoozes.map(
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
  return { rows, nextPageToken: answer.nextPageToken };
}

/** None with REMINDERS=off. */
async function readDeliveries({ budget, clients }: GatewayContext, { userId, pageSize, start }: Asked) {
  if (clients.reminders === undefined) return { rows: [], nextPageToken: '' };
  const answer = await budget.read(clients.reminders.listDeliveries, { userId, pageSize, ...start });
  const rows = answer.deliveries.map(
    (delivery): TimelineEventNode => ({
      userId,
      id: delivery.deliveryId,
      kind: 'REMINDER',
      timeMs: toTime(delivery.createTime),
      subjectIds: delivery.reminderId ? [delivery.reminderId] : [],
      delivery,
    }),
  );
  return { rows, nextPageToken: answer.nextPageToken };
}

const EVENT_KINDS: Partial<Record<TimelineKind, UserEventKind>> = {
  KEY: 'USER_EVENT_KIND_KEY',
  OPERATOR: 'USER_EVENT_KIND_OPERATOR',
};
/** Actions whose first subject is a material. */
const OF_MATERIALS = /Material|Review|Snooze/;

async function readEvents({ budget, clients }: GatewayContext, asked: Asked) {
  const { userId, pageSize, start } = asked;
  const answer = await budget.read(clients.userEvents.listUserEvents, {
    userId,
    pageSize,
    ...start,
    kinds: asked.kinds.flatMap((kind) => EVENT_KINDS[kind] ?? []),
    // The snooze itself is in the list and tells who made it.
    excludedActions: asked.kinds.includes('SNOOZE') ? ['snoozeMaterials', 'spreadBacklog'] : [],
  });
  const rows = answer.events.map(toEventNode);
  return { rows, nextPageToken: answer.nextPageToken };
}

/** What accounts recorded, as an event of a timeline. */
export function toEventNode(event: UserEvent): TimelineEventNode {
  const { userId, eventId, eventTime, kind, action, actor, requestId, subjectIds, snoozeId } = event;
  return {
    userId,
    action,
    actor,
    requestId,
    subjectIds,
    id: eventId,
    timeMs: toTime(eventTime),
    snoozeId: snoozeId || undefined,
    kind: kind === 'USER_EVENT_KIND_KEY' ? 'KEY' : 'OPERATOR',
    materialId: OF_MATERIALS.test(action) ? subjectIds[0] : undefined,
  };
}

type Arguments = PageArguments & { kinds?: readonly TimelineKind[] | null };
/** What was read of a source; null where its service does not answer. */
type Read = { source: TimelineSource; rows: readonly TimelineEventNode[]; hasMore: boolean } | null;

const ALL: readonly TimelineKind[] = TIMELINE_SOURCES.flatMap(({ kinds }) => kinds);

/** A page of the events of `kinds`, newest first; all kinds where none is named. */
export async function timeline(context: GatewayContext, userId: string, { kinds, first, after }: Arguments) {
  const count = countOf(first);
  const start = startAfter(readCursor(after));
  const wanted = kinds && kinds.length > 0 ? ALL.filter((kind) => kinds.includes(kind)) : ALL;
  const sources = TIMELINE_SOURCES.filter((source) => source.kinds.some((kind) => wanted.includes(kind)));
  const reads = await Promise.all(
    sources.map(async (source): Promise<Read> => {
      const asked = { userId, pageSize: count, start, kinds: wanted };
      const read = await source.read(context, asked).catch((error) => missing(context, source, error));
      return read && { source, rows: read.rows, hasMore: read.nextPageToken !== '' };
    }),
  );
  const rows = reads.flatMap((read) => read?.rows ?? []).toSorted(newestFirst);
  const nodes = rows.slice(0, count);
  const [newest, last] = [nodes[0], nodes.at(-1)];
  return {
    nodes,
    pageInfo: {
      hasNextPage: rows.length > count || reads.some((read) => read?.hasMore),
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

export const TimelineEvent: TimelineEventResolvers = {
  at: ({ timeMs }) => timeMs,
  apiKey: ({ apiKeyId }, _arguments, { loaders }) =>
    apiKeyId === undefined ? null : loaders.apiKey(apiKeyId).catch(nullIfUnavailable),
  apiKeys: async ({ kind, subjectIds }, _arguments, { loaders }) => {
    if (kind !== 'KEY') return [];
    const found = await Promise.all(subjectIds.map((id) => loaders.apiKey(id).catch(nullIfUnavailable)));
    return found.filter((key) => key !== null);
  },
  material: ({ userId, materialId }, _arguments, context) =>
    materialId === undefined ? null : materialOf(context, { userId, materialId }).catch(nullIfUnavailable),
};

function nullIfUnavailable(error: unknown): null {
  if (hasReason(error, 'UNAVAILABLE')) return null;
  throw error;
}
