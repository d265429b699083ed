// The lists that a timeline merges, each by time and ID, newest first.
import type { UserEventKind } from '../../generated/accounts/v1/UserEventKind.ts';
import type { TimelineKind } from '../../generated/gateway/resolvers.ts';
import { type Timestamp, toTimestamp } from '../../services/platform/protobuf/timestamps.ts';
import type { GatewayContext } from '../graphql/context.ts';
import { toTime } from '../graphql/mapper.ts';
import type { TimelineEventNode } from '../graphql/model.ts';

/** The row after which a page begins. */
export type TimelinePosition = { timeMs: number; id: string };

type Asked = {
  userId: string;
  pageSize: number;
  /** Fields of the request for the rows after a position; empty for the first page. */
  start: { beforeTime?: Timestamp; beforeId?: string };
  kinds: readonly TimelineKind[];
};
type Rows = { rows: TimelineEventNode[]; nextPageToken: string };
export type TimelineSource = {
  kinds: readonly TimelineKind[];
  read: (context: GatewayContext, asked: Asked) => Promise<Rows>;
};

/** One service each, so that one that does not answer is missing alone. */
export const TIMELINE_SOURCES: readonly TimelineSource[] = [
  { kinds: ['REVIEW'], read: readReviews },
  { kinds: ['SNOOZE'], read: readSnoozes },
  { kinds: ['REMINDER'], read: readDeliveries },
  { kinds: ['KEY', 'OPERATOR'], read: readEvents },
];

export function startAfter(position: TimelinePosition | undefined): Asked['start'] {
  if (position === undefined) return {};
  return { beforeTime: toTimestamp(new Date(position.timeMs)), beforeId: position.id };
}

async function readReviews({ budget, clients }: GatewayContext, { userId, pageSize, start }: Asked) {
  const answer = await budget.read(clients.reviews.listReviews, { userId, pageSize, ...start });
  const rows = answer.reviews.map(
    (message): TimelineEventNode => ({
      ...{ userId, id: message.reviewId, kind: 'REVIEW', timeMs: toTime(message.reviewTime) },
      requestId: message.requestId || null,
      ...{ subjectIds: [message.materialId], materialId: message.materialId },
      review: { userId, message },
    }),
  );
  return { rows, nextPageToken: answer.nextPageToken };
}

async function readSnoozes({ budget, clients }: GatewayContext, { userId, pageSize, start }: Asked) {
  const answer = await budget.read(clients.snoozes.listSnoozes, { userId, pageSize, ...start });
  const rows = answer.snoozes.map(
    (message): TimelineEventNode => ({
      ...{ userId, id: message.snoozeId, kind: 'SNOOZE', timeMs: toTime(message.createTime) },
      ...{ actor: message.actor || null, requestId: message.requestId || null },
      ...{ subjectIds: message.materialIds, materialId: message.materialIds[0] },
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
      ...{ userId, id: delivery.deliveryId, kind: 'REMINDER', timeMs: toTime(delivery.createTime) },
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
    ...{ userId, pageSize, ...start },
    kinds: asked.kinds.flatMap((kind) => EVENT_KINDS[kind] ?? []),
    // The snooze itself is in the list and tells who made it.
    excludedActions: asked.kinds.includes('SNOOZE') ? ['snoozeMaterials'] : [],
  });
  const rows = answer.events.map(
    ({ eventId, eventTime, kind, action, actor, requestId, subjectIds }): TimelineEventNode => ({
      ...{ userId, id: eventId, timeMs: toTime(eventTime), action, actor, requestId, subjectIds },
      kind: kind === 'USER_EVENT_KIND_KEY' ? 'KEY' : 'OPERATOR',
      materialId: OF_MATERIALS.test(action) ? subjectIds[0] : undefined,
    }),
  );
  return { rows, nextPageToken: answer.nextPageToken };
}
