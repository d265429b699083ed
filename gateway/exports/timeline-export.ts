// A user's timeline as a file: CSV for a spreadsheet, JSONL for a program. A line is an event, newest first.
import type { TimelineKind } from '../../generated/gateway/resolvers.ts';
import { ServiceError } from '../../services/platform/errors.ts';
import { toIsoText } from '../../services/platform/instants.ts';
import type { GatewayContext } from '../context.ts';
import type { TimelineEventNode } from '../nodes.ts';
import { materialOf } from '../resolvers/material.ts';
import { timeline } from '../resolvers/timeline.ts';

export type FileFormat = 'csv' | 'jsonl';

/** In the order of the CSV's columns. */
const FIELDS = [
  ...['time', 'kind', 'action', 'by', 'apiKeyId', 'apiKeyName', 'requestId', 'subjectIds', 'materialTitle'],
  ...['grade', 'intervalDays', 'snoozeUntil', 'reason', 'channel', 'state', 'skipReason', 'failure', 'id'],
] as const;
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
  if (format === 'csv') yield toCsvLine(FIELDS);
  for (let after: string | null | undefined; after !== null; ) {
    const context = newContext();
    const page: Awaited<ReturnType<typeof timeline>> = await timeline(context, userId, {
      kinds,
      first: PAGE_SIZE,
      after,
    });
    if (page.missing.length > 0) throw new ServiceError('UNAVAILABLE');
    const rows = await Promise.all(page.nodes.map((event) => toRow(context, event)));
    yield rows
      .map((row) =>
        format === 'csv' ? toCsvLine(FIELDS.map((field) => row[field])) : `${JSON.stringify(row)}\n`,
      )
      .join('');
    after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null;
  }
}

type Row = Partial<Record<(typeof FIELDS)[number], string | number | readonly string[] | null>>;

async function toRow(context: GatewayContext, event: TimelineEventNode): Promise<Row> {
  const { userId, materialId, apiKeyId, review, snooze, delivery } = event;
  const [material, apiKey] = await Promise.all([
    materialId === undefined ? null : materialOf(context, { userId, materialId }),
    apiKeyId === undefined ? null : context.loaders.apiKey(apiKeyId),
  ]);
  const timeOf = (time: { seconds: number } | null | undefined) => time && toIsoText(time.seconds * 1000);
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
      snoozeUntil: timeOf(snooze.message.snoozeUntilTime) ?? null,
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
function toCsvLine(cells: readonly (Row[keyof Row] | undefined)[]): string {
  const text = (cell: Row[keyof Row] | undefined) => (Array.isArray(cell) ? cell.join(' ') : `${cell ?? ''}`);
  const quoted = (value: string) => {
    const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return `${cells.map((cell) => quoted(text(cell))).join(',')}\r\n`;
}
