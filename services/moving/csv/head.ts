// What the head of a CSV file says of the rest: Anki's "#name:value" lines, the separator, the names of the columns.

const COLUMNS = [
  'id',
  'source',
  'guid',
  'title',
  'content',
  'sourceUrl',
  'type',
  'labels',
  'tags',
  'deck',
  'notetype',
  'ef',
  'interval',
  'repetitions',
  'nextReview',
  'lastReviewed',
  'createdAt',
  'updatedAt',
  'archivedAt',
] as const;
export type Column = (typeof COLUMNS)[number];

export type Head = {
  separator: string;
  /** The line breaks that end a row. */
  rowEnds: string[];
  /** Number of the first line that can be a row, from 1; a line before it belongs to the head. */
  firstLine: number;
  /** Whether lines that begin with a number sign are comments. */
  hasComments: boolean;
  /** Undefined: it does not say. */
  isHtml: boolean | undefined;
  /** By index, from 0; a column without a name has text. Undefined: the first row may have the names. */
  columns: ReadonlyMap<number, Column> | undefined;
  /** What "#tags:" and "#deck:" give to every row. */
  tags: readonly string[];
  deck: string | undefined;
  /** By index: what Anki's "#tags column:3" and the like say. */
  special: ReadonlyMap<number, Column>;
};

/** By a column's own name or another one, in lower case, without blanks, signs and digits. */
const NAMES: ReadonlyMap<string, Column> = new Map<string, Column>([
  ...COLUMNS.map((column) => [column.toLowerCase(), column] as const),
  ['front', 'title'],
  ['question', 'title'],
  ['back', 'content'],
  ['answer', 'content'],
  ['url', 'sourceUrl'],
  ['easefactor', 'ef'],
  ['due', 'nextReview'],
]);

const SEPARATORS: ReadonlyMap<string, string> = new Map([
  ['tab', '\t'],
  ['comma', ','],
  ['semicolon', ';'],
  ['colon', ':'],
  ['pipe', '|'],
  ['space', ' '],
]);
/** In the order in which they are tried. */
const GUESSES = ['\t', '|', ';', ','];

const LINE_END = /\r\n|\n|\r/;
/** At the beginning of the text, or behind a separator. */
const QUOTED_CELL = /(?<=^|[\t|;,])"[^"]*(?:""[^"]*)*"/g;

/** It may be in quotes. */
const SEPARATOR_FOR_EXCEL = /^"?sep=(.)"?$/i;

/** Reads the beginning of a file. If it names no separator, this is the first of tab, pipe, semicolon and comma in the first row. */
export function readHead(text: string): Head {
  const values = new Map<string, string>();
  const special = new Map<number, Column>();
  const lines = text.split(LINE_END);
  const headLine = headLineOf(lines[0] ?? '');
  if (headLine !== undefined) lines[0] = headLine;
  let headLines = 0;
  for (const line of lines) {
    if (!line.startsWith('#')) break;
    headLines += 1;
    const [, name = '', value = ''] = /^#([^:]*):(.*)$/.exec(line) ?? [];
    const key = name.trim().toLowerCase();
    const column = /^(guid|notetype|deck|tags) column$/.exec(key)?.[1];
    if (column === undefined) values.set(key, value);
    else special.set(Number.parseInt(value, 10) - 1, NAMES.get(column) ?? 'tags');
  }
  const rows = lines.slice(headLines).join('\n').replace(/^\n+/, '').replaceAll(QUOTED_CELL, '');
  const [firstRow = ''] = rows.split('\n', 1);
  const separator =
    separatorOf(values.get('separator')) ?? GUESSES.find((each) => firstRow.includes(each)) ?? ',';
  const html = /^(true|false)/i.exec(values.get('html')?.trim() ?? '')?.[0];
  // Anki, which says what each special column is, writes no names: its first note can be "front", "back".
  const names = values.get('columns') ?? (special.size > 0 ? '' : undefined);
  const unpadded = (name: string) => withoutPadding(values.get(name) ?? '', separator);
  const deck = unpadded('deck').trim();
  const [firstEnd] = LINE_END.exec(text.replaceAll(QUOTED_CELL, '')) ?? [];
  const firstLine = headLine === undefined ? 1 : 2;
  return {
    separator,
    // Only files of an old Mac end rows with a lone CR; elsewhere, it is part of a cell.
    rowEnds: firstEnd === '\r' ? ['\r\n', '\n', '\r'] : ['\r\n', '\n'],
    firstLine,
    // A file without any at its top was not written for Anki: "#include <stdio.h>" is a cell.
    hasComments: headLines >= firstLine,
    isHtml: html === undefined ? undefined : html.toLowerCase() === 'true',
    columns: names === undefined ? undefined : namedColumns(names.split(separator)),
    tags: unpadded('tags').split(/\s+/).filter(Boolean),
    deck: deck === '' ? undefined : deck,
    special,
  };
}

/** Without the separators with which a spreadsheet makes all lines equally wide. */
function withoutPadding(value: string, separator: string): string {
  let end = value.length;
  while (value[end - 1] === separator) end -= 1;
  return value.slice(0, end);
}

/** A first line that has no number sign, as Anki's head has it: tags of old versions of Anki, and the separator for Excel. */
function headLineOf(line: string): string | undefined {
  if (line.startsWith('tags:')) return `#${line}`;
  const [, separator] = SEPARATOR_FOR_EXCEL.exec(line) ?? [];
  return separator === undefined ? undefined : `#separator:${separator}`;
}

/** Undefined for a name that is none. */
function separatorOf(value = ''): string | undefined {
  // A blank or a tab may stand for itself.
  const text = value.trim() || value;
  const name = /^[a-z]{2,}/i.exec(text)?.[0].toLowerCase();
  if (name !== undefined) return SEPARATORS.get(name);
  return text.startsWith('\\t') ? '\t' : text[0];
}

/** The columns of a row that names them; undefined for a row that does not. */
export function columnsOfHeader(row: readonly string[]): ReadonlyMap<number, Column> | undefined {
  const columns = namedColumns(row);
  // "Question 1" is a question; "Answer 1" beside "Question" is a name.
  const hasTitle = row.some((name, index) => columns.get(index) === 'title' && !/\p{N}/u.test(name));
  const hasContent = [...columns.values()].includes('content');
  // A spreadsheet pads the row with empty cells.
  const width = row.filter((name) => name.trim() !== '').length;
  return hasTitle && (hasContent || columns.size > width / 3) ? columns : undefined;
}

function namedColumns(names: readonly string[]): Map<number, Column> {
  const columns = new Map<number, Column>();
  const taken = new Set<Column>();
  for (const [index, name] of names.entries()) {
    const column = NAMES.get(name.toLowerCase().replace(/\P{L}/gu, ''));
    if (column === undefined || taken.has(column)) continue;
    columns.set(index, column);
    taken.add(column);
  }
  return columns;
}
