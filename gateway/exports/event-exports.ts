// A user's timeline, and the audit of all users, as files: CSV for a spreadsheet, JSONL for a program. A line is an event, newest first.
import type { TimelineKind } from '../../generated/gateway/resolvers.ts';
import { BYTE_ORDER_MARK, csvRow } from '../../services/moving/csv/write.ts';
import { ServiceError } from '../../services/platform/errors.ts';
import { optionalIsoTextOf, toIsoText } from '../../services/platform/instants.ts';
import type { GatewayContext } from '../context.ts';
import { toTime } from '../mapper.ts';
import type { TimelineEventNode } from '../nodes.ts';
import { materialOf } from '../resolvers/material.ts';
import { type AuditFilter, readAudit } from '../resolvers/query.ts';
import { timeline } from '../resolvers/timeline.ts';

export type FileFormat = 'csv' | 'jsonl';

/** The columns of a file in their order, and what each has of a row. In JSONL undefined leaves it out. */
type Columns<R> = Readonly<Record<string, (row: R) => Cell>>;
type Cell = string | number | readonly string[] | null | undefined;

type AuditRow = { userId: string; event: TimelineEventNode; email: string | null };
const AUDIT: Columns<AuditRow> = {
  time: ({ event }) => toIsoText(event.timeMs),
  userId: ({ userId }) => userId,
  email: ({ email }) => email,
  kind: ({ event }) => event.kind,
  action: ({ event }) => event.action ?? null,
  by: ({ event }) => event.actor ?? null,
  requestId: ({ event }) => event.requestId ?? null,
  subjectIds: ({ event }) => event.subjectIds,
  snoozeId: ({ event }) => event.snoozeId ?? null,
  fields: ({ event }) => event.fields ?? [],
  id: ({ event }) => event.id,
};

type TimelineRow = TimelineEventNode & { title: string | null; apiKeyName: string | null };
const TIMELINE: Columns<TimelineRow> = {
  time: ({ timeMs }) => toIsoText(timeMs),
  kind: ({ kind }) => kind,
  action: ({ action }) => action ?? null,
  by: ({ actor }) => actor ?? null,
  apiKeyId: ({ apiKeyId }) => apiKeyId ?? null,
  apiKeyName: ({ apiKeyName }) => apiKeyName,
  requestId: ({ requestId }) => requestId ?? null,
  subjectIds: ({ subjectIds }) => subjectIds,
  materialTitle: ({ title }) => title,
  grade: ({ review }) => review && (review.message.quality ?? 0),
  intervalDays: ({ review }) => review && (review.message.after?.intervalDays ?? null),
  undoneAt: ({ review }) => review && optionalIsoTextOf(review.message.undoTime),
  snoozeUntil: ({ snooze }) => snooze && toIsoText(toTime(snooze.message.snoozeUntilTime)),
  reason: ({ snooze }) => snooze?.message.reason,
  cancelledAt: ({ snooze }) => snooze && optionalIsoTextOf(snooze.message.cancelTime),
  channel: ({ delivery }) => delivery?.channel.replace('CHANNEL_', ''),
  state: ({ delivery }) => delivery?.state.replace('DELIVERY_STATE_', ''),
  skipReason: ({ delivery }) =>
    delivery?.state === 'DELIVERY_STATE_SKIPPED'
      ? delivery.skipReason.replace('SKIP_REASON_', '')
      : delivery && null,
  failure: ({ delivery }) => delivery && (delivery.failure || null),
  fields: ({ fields }) => fields,
  id: ({ id }) => id,
};
const PAGE_SIZE = 100;

/**
 * The lines of the events of `kinds`, or of all. `newContext`: of a page, since each has a budget of its own.
 * @throws UNAVAILABLE if a service does not answer, also after the first lines: no part is left out in silence.
 */
export function exportTimeline(
  newContext: () => GatewayContext,
  userId: string,
  { format, kinds }: { format: FileFormat; kinds: readonly TimelineKind[] },
): AsyncGenerator<string> {
  return write(newContext, { format, columns: TIMELINE }, async (context, after) => {
    const { nodes, pageInfo, missing } = await timeline(context, userId, { kinds, first: PAGE_SIZE, after });
    if (missing.length > 0) throw new ServiceError('UNAVAILABLE');
    const rows = nodes.map(async (event) => {
      const { materialId, apiKeyId } = event;
      const [material, apiKey] = await Promise.all([
        materialId === undefined ? null : materialOf(context, { userId, materialId }),
        apiKeyId === undefined ? null : context.loaders.apiKey(apiKeyId),
      ]);
      return { ...event, title: material?.message.title ?? null, apiKeyName: apiKey?.name || null };
    });
    return { pageInfo, rows: await Promise.all(rows) };
  });
}

/** The lines of what was done to all users, without texts of theirs. @throws UNAVAILABLE also after the first lines. */
export function exportAudit(
  newContext: () => GatewayContext,
  { format, filter }: { format: FileFormat; filter: AuditFilter },
): AsyncGenerator<string> {
  return write(newContext, { format, columns: AUDIT }, async (context, after) => {
    const { nodes, pageInfo } = await readAudit(context, filter, { first: PAGE_SIZE, after });
    const rows = nodes.map(async ({ userId, event }) => {
      const user = await context.loaders.user({ userId });
      return { userId, event, email: user?.email ?? null };
    });
    return { pageInfo, rows: await Promise.all(rows) };
  });
}

type RowPage<R> = {
  rows: readonly R[];
  pageInfo: { hasNextPage: boolean | undefined; endCursor: string | null };
};

/** The lines of all pages, page by page; those of the first with the head. */
async function* write<R>(
  newContext: () => GatewayContext,
  { format, columns }: { format: FileFormat; columns: Columns<R> },
  read: (context: GatewayContext, after: string | undefined) => Promise<RowPage<R>>,
): AsyncGenerator<string> {
  const all = Object.entries(columns);
  const toLine = (row: R) => {
    const cells = all.map(([name, of]) => [name, of(row)] as const);
    return format === 'csv'
      ? toCsvLine(cells.map(([, cell]) => cell))
      : `${JSON.stringify(Object.fromEntries(cells))}\n`;
  };
  let head = format === 'csv' ? BYTE_ORDER_MARK + toCsvLine(Object.keys(columns)) : '';
  for (let after: string | undefined, isLast = false; !isLast; ) {
    const { rows, pageInfo } = await read(newContext(), after);
    yield head + rows.map(toLine).join('');
    head = '';
    after = pageInfo.endCursor ?? undefined;
    isLast = !pageInfo.hasNextPage;
  }
}

/** A text that a spreadsheet would take for a formula gets an apostrophe in front. */
function toCsvLine(cells: readonly Cell[]): string {
  const text = (cell: Cell) => (Array.isArray(cell) ? cell.join(' ') : `${cell ?? ''}`);
  return csvRow(cells.map((cell) => text(cell).replace(/^[=+\-@\t\r]/, "'$&")));
}
