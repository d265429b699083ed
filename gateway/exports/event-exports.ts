// A user's timeline, and the audit of all users, as files: CSV for a spreadsheet, JSONL for a program. A line is an event, newest first.
import type { TimelineKind } from '../../generated/gateway/resolvers.ts';
import { ServiceError } from '../../services/platform/errors.ts';
import { toIsoText } from '../../services/platform/instants.ts';
import type { GatewayContext } from '../context.ts';
import { toTime } from '../mapper.ts';
import type { TimelineEventNode } from '../nodes.ts';
import { materialOf } from '../resolvers/material.ts';
import { type AuditFilter, readAudit } from '../resolvers/query.ts';
import { timeline } from '../resolvers/timeline.ts';

export type FileFormat = 'csv' | 'jsonl';

/** In the order of the CSV's columns. */
const AUDIT = [
  'time',
  'userId',
  'email',
  'kind',
  'action',
  'by',
  'requestId',
  'subjectIds',
  'snoozeId',
  'id',
];
const TIMELINE = [
  'time',
  'kind',
  'action',
  'by',
  'apiKeyId',
  'apiKeyName',
  'requestId',
  'subjectIds',
  'materialTitle',
  'grade',
  'intervalDays',
  'snoozeUntil',
  'reason',
  'channel',
  'state',
  'skipReason',
  'failure',
  'id',
];
const PAGE_SIZE = 100;

/**
 * The lines of the events of `kinds`, or of all. `newContext`: of a page, since each has a budget of its own.
 * @throws UNAVAILABLE if a service does not answer, also after the first lines: no part is left out in silence.
 */
export async function* exportTimeline(
  newContext: () => GatewayContext,
  userId: string,
  { format, kinds }: { format: FileFormat; kinds: readonly TimelineKind[] },
): AsyncGenerator<string> {
  yield* write(newContext, { format, fields: TIMELINE }, async (context, after) => {
    const { nodes, pageInfo, missing } = await timeline(context, userId, { kinds, first: PAGE_SIZE, after });
    if (missing.length > 0) throw new ServiceError('UNAVAILABLE');
    return { pageInfo, rows: await Promise.all(nodes.map((event) => toTimelineRow(context, event))) };
  });
}

/** The lines of what was done to all users, without texts of theirs. @throws UNAVAILABLE also after the first lines. */
export async function* exportAudit(
  newContext: () => GatewayContext,
  { format, filter }: { format: FileFormat; filter: AuditFilter },
): AsyncGenerator<string> {
  yield* write(newContext, { format, fields: AUDIT }, async (context, after) => {
    const { nodes, pageInfo } = await readAudit(context, filter, { first: PAGE_SIZE, after });
    const rows = nodes.map(async ({ userId, event }) => ({
      time: toIsoText(event.timeMs),
      userId,
      email: (await context.loaders.user({ userId }))?.email ?? null,
      kind: event.kind,
      action: event.action ?? null,
      by: event.actor ?? null,
      requestId: event.requestId ?? null,
      subjectIds: event.subjectIds,
      snoozeId: event.snoozeId ?? null,
      id: event.id,
    }));
    return { pageInfo, rows: await Promise.all(rows) };
  });
}

type RowPage = {
  rows: readonly Row[];
  pageInfo: { hasNextPage: boolean | undefined; endCursor: string | null };
};

/** The lines of all pages, page by page; those of the first with the head. */
async function* write(
  newContext: () => GatewayContext,
  { format, fields }: { format: FileFormat; fields: readonly string[] },
  read: (context: GatewayContext, after: string | undefined) => Promise<RowPage>,
): AsyncGenerator<string> {
  const toLine =
    format === 'csv'
      ? (row: Row) => toCsvLine(fields.map((field) => row[field]))
      : (row: Row) => `${JSON.stringify(row)}\n`;
  let head = format === 'csv' ? toCsvLine(fields) : '';
  for (let after: string | undefined, isLast = false; !isLast; ) {
    const { rows, pageInfo } = await read(newContext(), after);
    yield head + rows.map(toLine).join('');
    head = '';
    after = pageInfo.endCursor ?? undefined;
    isLast = !pageInfo.hasNextPage;
  }
}

type Cell = string | number | readonly string[] | null | undefined;
type Row = Readonly<Record<string, Cell>>;

async function toTimelineRow(context: GatewayContext, event: TimelineEventNode): Promise<Row> {
  const { userId, materialId, apiKeyId, review, snooze, delivery } = event;
  const [material, apiKey] = await Promise.all([
    materialId === undefined ? null : materialOf(context, { userId, materialId }),
    apiKeyId === undefined ? null : context.loaders.apiKey(apiKeyId),
  ]);
  return {
    time: toIsoText(event.timeMs),
    kind: event.kind,
    action: event.action ?? null,
    by: event.actor ?? null,
    apiKeyId: apiKeyId ?? null,
    apiKeyName: apiKey?.name || null,
    requestId: event.requestId ?? null,
    subjectIds: event.subjectIds,
    materialTitle: material?.message.title ?? null,
    ...(review && {
      grade: review.message.quality ?? 0,
      intervalDays: review.message.after?.intervalDays ?? null,
    }),
    ...(snooze && {
      snoozeUntil: toIsoText(toTime(snooze.message.snoozeUntilTime)),
      reason: snooze.message.reason,
    }),
    ...(delivery && {
      channel: delivery.channel.replace('CHANNEL_', ''),
      state: delivery.state.replace('DELIVERY_STATE_', ''),
      skipReason:
        delivery.state === 'DELIVERY_STATE_SKIPPED' ? delivery.skipReason.replace('SKIP_REASON_', '') : null,
      failure: delivery.failure || null,
    }),
    id: event.id,
  };
}

/** RFC 4180, each line with its end. A text that a spreadsheet would take for a formula gets an apostrophe in front. */
function toCsvLine(cells: readonly Cell[]): string {
  const text = (cell: Cell) => (Array.isArray(cell) ? cell.join(' ') : `${cell ?? ''}`);
  const quoted = (value: string) => {
    const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return `${cells.map((cell) => quoted(text(cell))).join(',')}\r\n`;
}
