// Materials as CSV for a spreadsheet: a row each, columns named as the fields of the API. Reviews and snoozes are not in it.
import type { Material } from '../../../generated/scheduling/v1/Material.ts';
import type { MaterialRecord } from '../../../generated/scheduling/v1/MaterialRecord.ts';
import { MATERIAL, toLine } from '../jsonl/fields.ts';
import type { Column } from './head.ts';

/** The columns, in their order. */
export const EXPORTED: readonly Column[] = [
  'id',
  'title',
  'content',
  'sourceUrl',
  'type',
  'labels',
  'ef',
  'interval',
  'repetitions',
  'nextReview',
  'lastReviewed',
  'createdAt',
  'updatedAt',
  'archivedAt',
  'source',
];
/** Without it, Excel reads UTF-8 as something else. */
export const BYTE_ORDER_MARK = '\ufeff';

/** The head and a row for each record of an export. */
export async function* writeCsv(records: AsyncIterable<MaterialRecord>): AsyncGenerator<string> {
  yield BYTE_ORDER_MARK + csvRow(EXPORTED);
  let isContinued = false;
  for await (const { material, source, continues } of records) {
    if (material !== null && !isContinued) yield toRow(material, source);
    isContinued = continues;
  }
}

/** Line breaks separate the labels in their cell. A single label with a semicolon, which can also separate labels, ends with one. */
function toRow(material: Material, source: string): string {
  const line = toLine(MATERIAL, material);
  const joined = material.labels.join('\n');
  const labels = joined.includes(';') && !joined.includes('\n') ? `${joined}\n` : joined;
  const cells = { ...line, labels, source } as Readonly<Record<string, unknown>>;
  return csvRow(EXPORTED.map((column) => `${cells[column] ?? ''}`));
}

/** A row with its end (RFC 4180). */
export function csvRow(cells: readonly string[]): string {
  return `${cells.map((cell) => (/[",\r\n]|^\s|\s$|^#/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')}\r\n`;
}
