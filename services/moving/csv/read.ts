// Reads CSV and TSV files: with Anki's head, with columns named as our fields, or two columns of plain text.
import { hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { Temporal } from 'temporal-polyfill';
import type { MaterialRecordInput } from '../../../generated/scheduling/v1/MaterialRecord.ts';
import { parseDateTime } from '../../platform/instants.ts';
import { isUri } from '../../platform/text.ts';
import { isUuid } from '../../platform/uuid.ts';
import { clozeNumbers, showCloze } from '../anki/cloze.ts';
import { pathOf } from '../anki/note-types.ts';
import {
  type Card,
  type CardSchedule,
  cleaned,
  DEFAULT_EASE_FACTOR,
  isDueTime,
  isPast,
  type MaterialType,
  toContent,
  toEaseFactor,
  toIntervalDays,
  toTexts,
} from '../card.ts';
import type { Findings, Note } from '../findings.ts';
import { toLabels } from '../labels.ts';
import { firstBytes } from '../lines.ts';
import { TYPE_MESSAGES, toRecords } from '../record.ts';
import { htmlToText } from '../text/html-text.ts';
import { createTextSet } from '../text-set.ts';
import { unreadable } from '../unreadable.ts';
import { type Column, columnsOfHeader, type Head, readHead } from './head.ts';
import { EXPORTED } from './write.ts';

const MAX_ROW_BYTES = 1024 * 1024;
const HEAD_BYTES = 64 * 1024;
/** The number of rows that decide whether texts are HTML. */
const ROWS_TRIED = 5;
/** Of HTML in cards. `List<String>` and `a<b && c>d` are plain text. */
const TAGS =
  'a|abbr|audio|b|big|blockquote|br|center|cite|code|dd|del|details|div|dl|dt|em|figure|font|h[1-6]|hr|i|iframe|img|ins|kbd|li|mark|ol|p|' +
  'pre|q|ruby|s|samp|script|section|small|span|strike|strong|style|sub|summary|sup|table|tbody|td|th|thead|tr|tt|u|ul|var|video';
const TAG = new RegExp(`</?(?:${TAGS})(?:\\s+[\\w-]+=[^<>]*|\\s*/?)>`, 'i');

type CsvContext = { timeZone: string; nowMs: number; findings: Findings };

/** The records of the file at `path`. @throws INVALID_REQUEST with the row where it cannot be read. */
export async function* readCsv(path: string, context: CsvContext): AsyncGenerator<MaterialRecordInput> {
  const bytes = await firstBytes(path, HEAD_BYTES);
  const encoding = encodingOf(bytes);
  const head = readHead(new TextDecoder(encoding).decode(bytes));
  const savedMs = Math.min((await stat(path)).mtimeMs, context.nowMs);
  const sourceOf = createSources();
  for await (const { row, number, columns, isHtml } of readRows(path, encoding, head)) {
    const cells = cellsOf(row, columns, head);
    const example = `row ${number}`;
    const reason = reasonToLeave(cells, { columns, isHtml });
    if (reason !== undefined) context.findings.add('material', reason, example);
    else
      for (const { ordinal, ...card } of cardsOf(cells, { ...context, head, isHtml, example })) {
        const source = sourceOf(card, cells, ordinal);
        if (source === undefined) context.findings.add('material', 'it is there twice', example);
        else yield* recordsOf({ ...card, source }, cells.id, savedMs);
      }
  }
}

/** A material that has an ID of ours is the one of that ID; its texts are as new as the file. */
async function* recordsOf(card: Card, id: string | undefined, savedMs: number) {
  if (id === undefined) yield* toRecords([card]);
  else
    for await (const record of toRecords([{ ...card, textMs: Math.max(card.textMs ?? 0, savedMs) }]))
      yield {
        ...record,
        material: { ...record.material, materialId: id },
        source: card.source === sourceOfId(id) ? '' : card.source,
      };
}

/** Of a row that has an ID and no source. */
const sourceOfId = (id: string) => `csv:${id}`;

/** Gives each card its source: that of its row, numbered; else a hash of its title, or also of its content if the title is repeated. */
function createSources() {
  const sources = createTextSet();
  return (card: Card, { id, named }: Cells, ordinal: number): string | undefined => {
    const numbered = (source: string) => (ordinal === 0 ? source : `${source}:${ordinal}`);
    const ofRow = named.get('source');
    const given = card.source || (ofRow && numbered(ofRow));
    const key = (...texts: (string | undefined)[]) => `csv:${hash('sha256', texts.join('\0')).slice(0, 32)}`;
    const idThere = id ?? named.get('id');
    const own = idThere && numbered(sourceOfId(idThere));
    const candidates = given ? [given] : own ? [own] : [key(card.title), key(card.title, card.content)];
    // The same title and content twice are the same card.
    const full = given || own || key(card.title, card.content);
    const source = sources.has(`full ${full}`) ? undefined : candidates.find((each) => !sources.has(each));
    sources.add(`full ${full}`);
    if (source !== undefined) sources.add(source);
    return source;
  };
}

/** `id`: a UUID, of a material of ours. */
type Cells = { id: string | undefined; named: ReadonlyMap<Column, string>; texts: readonly string[] };

/** What our columns of these names hold. In other files they can have texts, such as "Wikipedia", "noun" or "perfect fifth". */
const VALUES: { readonly [Name in Column]?: (cell: string) => boolean } = {
  // What an import gives to a material, or a restore to one of ours.
  source: (cell) => /^(?:anki|csv|export|jsonl|mnemosyne|smconv):\S/.test(cell),
  type: (cell) => typeOf(cell) !== undefined,
  sourceUrl: (cell) => isUri(cell.trim()),
  ef: isNumber,
  interval: isNumber,
  repetitions: isNumber,
};

/** The cells by the names of their columns; the others are texts, behind title and content. */
function cellsOf(row: readonly string[], columns: ReadonlyMap<number, Column>, head: Head): Cells {
  const named = new Map<Column, string>();
  const others: string[] = [];
  const columnOf = (index: number) => head.special.get(index) ?? columns.get(index);
  const idThere = row
    .find((_, index) => columnOf(index) === 'id')
    ?.trim()
    .toLowerCase();
  const id = idThere !== undefined && isUuid(idThere) ? idThere : undefined;
  const hasTitle = row.some((_, index) => columnOf(index) === 'title');
  /** A row of ours has whatever source a client of gRPC gave it. Where no column is the title, the first text is. */
  const isText = (column: Column, cell: string) =>
    column === 'content' ? !hasTitle : id === undefined && cell !== '' && VALUES[column]?.(cell) === false;
  for (const [index, each] of row.entries()) {
    const [column, cell] = [columnOf(index), cleaned(each)];
    if (column === undefined || isText(column, cell)) others.push(cell);
    else if (cell !== '') named.set(column, cell);
  }
  const texts = hasTitle ? [named.get('title') ?? '', named.get('content') ?? '', ...others] : others;
  return { id, named, texts };
}

type RowContext = { columns: ReadonlyMap<number, Column>; isHtml: boolean };

function reasonToLeave({ id, texts }: Cells, { columns, isHtml }: RowContext): string | undefined {
  const [first = ''] = texts;
  if (id !== undefined) {
    // What has no column would be taken for empty.
    if (!isOfExport(columns)) return 'a row with an id needs all columns of an export';
    return first === '' ? 'its title is empty' : undefined;
  }
  return (isHtml ? htmlToText(first) : first).trim() === '' ? 'its first field is empty' : undefined;
}

/** Whether they are those of an export of this service. */
function isOfExport(columns: ReadonlyMap<number, Column>): boolean {
  const names = new Set(columns.values());
  return EXPORTED.every((name) => names.has(name));
}

type CardContext = CsvContext & { head: Head; isHtml: boolean; example: string };

/**
 * One card, or one for each number of a cloze deletion in the first text. A row with an ID of ours is one, with its texts as they are.
 * `source` is empty where the row has no GUID. `ordinal`: the number of the cloze deletion less one, else 0.
 */
function* cardsOf(cells: Cells, context: CardContext): Generator<Card & { ordinal: number }> {
  const { id, named, texts } = cells;
  const [first = '', ...others] = texts;
  const toText = (text: string) => (context.isHtml ? htmlToText(text) : text.trim());
  const guid = named.get('guid')?.slice(0, 400);
  const note = (reason: string) => context.findings.add('note', reason, context.example);
  const common = commonOf(cells, context, note);
  if (id !== undefined) {
    const content = others.filter((text) => text !== '').join('\n\n');
    yield { ...common, ordinal: 0, source: '', title: first, content: toContent(content, note) };
    return;
  }
  const numbers = first.includes('{{c') ? clozeNumbers(first) : [];
  for (const number of numbers.length === 0 ? [undefined] : numbers) {
    const question = number === undefined ? first : showCloze(first, { number, side: 'question' });
    const answer = number === undefined ? [] : [showCloze(first, { number, side: 'answer' })];
    const rest = [...answer, ...others].map(toText).filter((text) => text !== '');
    const ordinal = (number ?? 1) - 1;
    const source = guid === undefined ? '' : `anki:${guid}:${ordinal}`;
    yield { ...common, ordinal, source, ...toTexts(toText(question), rest.join('\n\n'), note) };
  }
}

function commonOf(
  cells: Cells,
  { head, nowMs, timeZone }: CardContext,
  note: Note,
): Omit<Card, 'source' | 'title' | 'content'> {
  const { named } = cells;
  const instant = (column: Column, isValid: (ms: number, nowMs: number) => boolean) => {
    const text = named.get(column);
    const ms = text === undefined ? undefined : toInstant(text, timeZone);
    if (text === undefined || (ms !== undefined && isValid(ms, nowMs))) return ms;
    return void note(`${column} is not a possible date: left out`);
  };
  return {
    type: typeOf(named.get('type') ?? '') ?? 'flashcard',
    labels: labelsOf(cells, head, note),
    sourceUrl: named.get('sourceUrl')?.trim(),
    archiveMs: instant('archivedAt', isPast),
    createMs: instant('createdAt', isPast),
    textMs: instant('updatedAt', isPast),
    schedule: scheduleOf(named, instant('nextReview', isDueTime)),
    lastReviewMs: instant('lastReviewed', isPast),
    reviews: [],
  };
}

function typeOf(text: string): MaterialType | undefined {
  const type = text.trim().toLowerCase();
  return Object.hasOwn(TYPE_MESSAGES, type) ? (type as MaterialType) : undefined;
}

/** Of a material of ours, the cell has them as they are. */
function labelsOf({ id, named }: Cells, head: Head, note: Note): string[] {
  const deck = named.get('deck') ?? head.deck;
  const decks = deck === undefined ? [] : [pathOf(deck)];
  const text = named.get('labels') ?? '';
  const isDivided = text.includes(';') && !text.includes('\n');
  const labels = text.split(isDivided ? /\s*;\s*/ : /\r?\n/).filter((label) => label !== '');
  // In Anki, a comma is part of a tag.
  const betweenTags = head.columns === undefined ? /[\s,;]+/ : /\s+/;
  const tags = [...head.tags, ...(named.get('tags') ?? '').split(betweenTags)].map(pathOf);
  if (id !== undefined) return [...labels, ...toLabels([...decks, ...tags], note)];
  return toLabels([...decks, ...labels.map((label) => label.split('/')), ...tags], note);
}

/** Undefined where no column of the schedule has a value: then the card is new. */
function scheduleOf(named: Cells['named'], dueMs: number | undefined): CardSchedule | undefined {
  const number = (column: Column) => numberOf(named.get(column) ?? '');
  const [easeFactor, days, repetitions] = [number('ef'), number('interval'), number('repetitions')];
  if (easeFactor === undefined && days === undefined && repetitions === undefined && dueMs === undefined)
    return undefined;
  const intervalDays = toIntervalDays(days ?? 0);
  const passes =
    repetitions === undefined ? (intervalDays > 0 ? 2 : 0) : Math.max(0, Math.trunc(repetitions));
  return {
    easeFactor: toEaseFactor(easeFactor ?? DEFAULT_EASE_FACTOR),
    intervalDays,
    repetitions: Math.min(passes, 1_000_000),
    dueMs,
  };
}

function isNumber(text: string): boolean {
  return numberOf(text) !== undefined;
}

/** Spreadsheets write a decimal comma in many countries. */
function numberOf(text: string): number | undefined {
  const value = text.trim() === '' ? Number.NaN : Number(text.replace(',', '.'));
  return Number.isFinite(value) ? value : undefined;
}

const LOCAL = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?$/;
const WITHOUT_SECONDS = /(T\d\d:\d\d)(?=[Z+-])/i;

/** Of an instant, or of a date, with or without a time of day, in `timeZone`. */
function toInstant(text: string, timeZone: string): number | undefined {
  const trimmed = text.trim();
  const instant = parseDateTime(trimmed.replace(' ', 'T').replace(WITHOUT_SECONDS, '$1:00'));
  if (instant !== undefined) return instant.getTime();
  const [, date, time = '00:00'] = LOCAL.exec(trimmed) ?? [];
  if (date === undefined) return undefined;
  try {
    return Temporal.PlainDateTime.from(`${date}T${time}`).toZonedDateTime(timeZone).epochMilliseconds;
  } catch {
    return undefined;
  }
}

type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be';

function encodingOf([a, b]: Buffer): Encoding {
  if (a === 0xff && b === 0xfe) return 'utf-16le';
  return a === 0xfe && b === 0xff ? 'utf-16be' : 'utf-8';
}

/** Each row behind the names of the columns, with its number in the file. */
async function* readRows(path: string, encoding: Encoding, head: Head) {
  const parser = parse({
    delimiter: head.separator,
    record_delimiter: head.rowEnds,
    from_line: head.firstLine,
    comment: head.hasComments ? '#' : null,
    comment_no_infix: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: MAX_ROW_BYTES,
    bom: true,
  });
  const input = Readable.from(decoded(path, encoding));
  input.on('error', (error) => parser.destroy(error));
  input.pipe(parser);
  let number = 0;
  let columns = head.columns;
  let isHtml = head.isHtml;
  const waiting: { row: string[]; number: number }[] = [];
  const ready = () => {
    isHtml ??= waiting.some(({ row }) => row.some((cell) => TAG.test(cell)));
    const common = { columns: columns ?? NO_COLUMNS, isHtml };
    return waiting.splice(0).map((each) => ({ ...each, ...common }));
  };
  try {
    for await (const row of parser as AsyncIterable<string[]>) {
      number += 1;
      if (number === 1 && columns === undefined) {
        columns = columnsOfHeader(row) ?? NO_COLUMNS;
        // Ours have plain text.
        if (isOfExport(columns)) isHtml ??= false;
        if (columns !== NO_COLUMNS) continue;
      }
      waiting.push({ row, number });
      if (isHtml !== undefined || waiting.length === ROWS_TRIED) yield* ready();
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw unreadable(`The file cannot be read as CSV after row ${number}: ${error.message}`, error);
  } finally {
    input.destroy();
  }
  yield* ready();
}

const NO_COLUMNS: ReadonlyMap<number, Column> = new Map();

async function* decoded(path: string, encoding: Encoding): AsyncGenerator<string> {
  const decoder = new TextDecoder(encoding, { fatal: true });
  let lines = 1;
  try {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      const text = decoder.decode(chunk, { stream: true });
      for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines += 1;
      if (text !== '') yield text;
    }
    yield decoder.decode();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw unreadable(
      `The file is not ${encoding.toUpperCase()} after line ${lines}. Save it as UTF-8, then import it again.`,
      error,
    );
  }
}
