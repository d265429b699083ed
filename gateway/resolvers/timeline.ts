// The timeline of a user: reviews, snoozes, reminders and events of several services, merged by time.
import type { GraphQLResolveInfo } from 'graphql';
import type { TimelineEventResolvers, TimelineKind } from '../../generated/gateway/resolvers.ts';
import { hasReason, invalidField } from '../../services/platform/errors.ts';
import { isUuid } from '../../services/platform/uuid.ts';
import type { GatewayContext } from '../graphql/context.ts';
import type { TimelineEventNode } from '../graphql/model.ts';
import { countOf, type PageArguments } from '../graphql/relay.ts';
import { joinEventMaterials } from '../reads/joins.ts';
import { rowsBelow } from '../reads/lookahead.ts';
import { findMaterials } from '../reads/reads.ts';
import {
  startAfter,
  TIMELINE_SOURCES,
  type TimelinePosition,
  type TimelineSource,
} from '../reads/timeline-sources.ts';

type Arguments = PageArguments & { kinds?: readonly TimelineKind[] | null };
/** What was read of a source; null where its service does not answer. */
type Read = { source: TimelineSource; rows: readonly TimelineEventNode[]; hasMore: boolean } | null;

const ALL: readonly TimelineKind[] = TIMELINE_SOURCES.flatMap(({ kinds }) => kinds);

/** A page of the events of `kinds`, newest first; all kinds where none is named. */
export async function timeline(
  context: GatewayContext,
  info: GraphQLResolveInfo,
  userId: string,
  { kinds, first, after }: Arguments,
) {
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
  await joinEventMaterials({ context, info }, rowsBelow(info, info.fieldNodes), nodes);
  return {
    nodes,
    edges: nodes.map((node) => ({ cursor: toCursor(node), node })),
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
  material: async ({ userId, materialId, material }, _arguments, context) => {
    if (material !== undefined || materialId === undefined) return material ?? null;
    return (await findMaterials(context, userId, [materialId])).get(materialId) ?? null;
  },
};
