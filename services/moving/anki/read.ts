// Reads the cards of an Anki collection, one at a time, each with its reviews.
import { type Card, cleaned, IMPOSSIBLE_DUE, isPast, MAX_REVIEWS, MAX_TEXT, toTexts } from '../card.ts';
import type { Findings, Note } from '../findings.ts';
import { toLabels } from '../labels.ts';
import { createRowsOfKeys } from '../rows-of-keys.ts';
import { integer, openTables, type Row, type Tables, text } from '../sqlite.ts';
import { htmlToText } from '../text/html-text.ts';
import { createTextSet } from '../text-set.ts';
import { unreadable } from '../unreadable.ts';
import { clozeNumbers, showWhole } from './cloze.ts';
import {
  type Decks,
  type NoteType,
  pathOf,
  readDecks,
  readNoteTypes,
  readSettings,
  type Settings,
} from './note-types.ts';
import { type LogRow, readLog } from './reviews.ts';
import { type CardState, createDays, type Days, scheduleOf } from './schedule.ts';
import { type Rendering, renderTemplate, type Template } from './template.ts';

const ANKI_TABLES = ['col', 'notes', 'cards', 'revlog'];

/** Of a note's fields together, in bytes. */
const MAX_NOTE_BYTES = 1024 * 1024;
/** Of a rendered side, in UTF-16 units. */
const MAX_SIDE = 1024 * 1024;
const MAX_GUID_BYTES = 400;
const MAX_TAGS_BYTES = 10_000;

export type Collection = {
  materials: number;
  cards(findings: Findings): Generator<Card>;
  close(): void;
};

type Context = {
  noteTypes: ReadonlyMap<number, NoteType>;
  decks: Decks;
  settings: Settings;
  days: Days;
  nowMs: number;
  findings: Findings;
};

/**
 * Opens the collection at `path`, a copy of ours, and reads all of it once, so that a damaged one is refused before anything of it is
 * imported. `timeZone`: where its owner learns. `schedulerVersion`: of its scheduler, at least.
 * @throws INVALID_REQUEST if it is damaged or none.
 */
export async function openCollection(
  path: string,
  { timeZone, nowMs, schedulerVersion = 1 }: { timeZone: string; nowMs: number; schedulerVersion?: number },
): Promise<Collection> {
  const tables = await openTables(path, ANKI_TABLES);
  try {
    const noteTypes = readNoteTypes(tables);
    const decks = readDecks(tables);
    const found = readSettings(tables);
    const settings = { ...found, schedulerVersion: Math.max(found.schedulerVersion, schedulerVersion) };
    const days = createDays({ createdSeconds: createdSecondsOf(tables, nowMs), ...settings, timeZone });
    return {
      materials: readEverything(tables),
      cards: (findings) => readCards(tables, { noteTypes, decks, settings, days, nowMs, findings }),
      close: tables.close,
    };
  } catch (error) {
    tables.close();
    throw error;
  }
}

function createdSecondsOf(tables: Tables, nowMs: number): number {
  const [row] = tables.rows(`SELECT ${integer('crt')} AS crt FROM col LIMIT 1`);
  const seconds = Number(row?.crt);
  if (!isPast(seconds * 1000, nowMs))
    throw unreadable('The collection was made before 1970, or in the future.');
  return seconds;
}

/** Of cards and of their log; each is read as a number, whatever its cell has. */
const CARD_NUMBERS = 'id nid did ord mod type queue due ivl factor odue odid flags'.split(' ');
const LOG_NUMBERS = 'cid id ease ivl lastIvl factor type'.split(' ');

/** Reads each row as the cards will be read, so that damage is found now. @returns how many cards there are. */
function readEverything(tables: Tables): number {
  const read = (table: string, numbers: readonly string[], texts: readonly string[] = []) => {
    const sums = numbers.map((column) => `total(${integer(column)})`);
    const lengths = texts.map((column) => `total(length(${text(column, MAX_NOTE_BYTES)}))`);
    const [row] = tables.rows(`SELECT count(*) AS count, ${[...sums, ...lengths].join(', ')} FROM ${table}`);
    return Number(row?.count);
  };
  read('notes', ['id', 'mid', 'mod'], ['guid', 'tags', 'flds']);
  read('revlog', LOG_NUMBERS);
  return read('cards', CARD_NUMBERS);
}

const CARDS = `SELECT ${CARD_NUMBERS.map((column) => `${integer(`c.${column}`)} AS ${column}`).join(', ')},
  n.id IS NOT NULL AS has_note, ${integer('n.mid')} AS mid, ${integer('n.mod')} AS note_mod,
  ${text('n.guid', MAX_GUID_BYTES)} AS guid, ${text('n.tags', MAX_TAGS_BYTES)} AS tags, ${text('n.flds', MAX_NOTE_BYTES)} AS flds
  FROM cards c LEFT JOIN notes n ON n.id = c.nid ORDER BY c.id`;

const LOG = `SELECT ${LOG_NUMBERS.map((column) => `${integer(column)} AS ${column}`).join(', ')} FROM revlog ORDER BY cid, id`;

function* readCards(tables: Tables, context: Context): Generator<Card> {
  const { findings } = context;
  const logs = createRowsOfKeys(tables.rows(LOG), 'cid', {
    max: MAX_REVIEWS,
    cut: (id, count) => findings.add('review', 'more than 50,000 reviews of a card', `card ${id}`, count),
    skipped: (count) => findings.add('review', 'its card is deleted', '', count),
  });
  const sources = createTextSet();
  const copies = readCopies(tables);
  for (const row of tables.rows(CARDS)) {
    const rows = logs.of(Number(row.id)).map(toLogRow);
    const leave = (reason: string) => {
      findings.add('material', reason, `card ${row.id}`);
      findings.add('review', `${reason} (its reviews)`, `card ${row.id}`, rows.length);
    };
    if (row.has_note === 0) leave('the card has no note');
    else if (row.guid === null || row.flds === null) leave('the note has more than 1 MiB of text');
    else if (row.guid === '') leave('the note has no GUID');
    else {
      const isCopy = copies.has(Number(row.nid));
      const source = `anki:${cleaned(`${row.guid}`)}${isCopy ? `/${row.nid}` : ''}:${row.ord}`;
      if (isCopy)
        findings.add(
          'note',
          'its note has the GUID of an older note: the note is recognised by its ID',
          `card ${row.id}`,
        );
      if (sources.has(source)) leave('the note has a card of this kind already');
      else yield readCard(row, rows, source, context);
      sources.add(source);
    }
  }
  logs.end();
}

const NOTES = `SELECT ${integer('id')} AS id, ${text('guid', MAX_GUID_BYTES)} AS guid FROM notes ORDER BY guid, id`;
/** No collection that a person made has more. */
const MAX_COPIES = 100_000;

/** The IDs of the notes whose GUID an older note has. Add-ons that copy notes have left such notes. */
function readCopies(tables: Tables): Set<number> {
  const copies = new Set<number>();
  let guidBefore: Row[string] | undefined;
  for (const { id, guid } of tables.rows(NOTES)) {
    if (guid !== null && guid === guidBefore && copies.size < MAX_COPIES) copies.add(Number(id));
    guidBefore = guid;
  }
  return copies;
}

function toLogRow(row: Row): LogRow {
  return {
    id: Number(row.id),
    ease: Number(row.ease),
    interval: Number(row.ivl),
    lastInterval: Number(row.lastIvl),
    factor: Number(row.factor),
    type: Number(row.type),
  };
}

function readCard(row: Row, rows: readonly LogRow[], source: string, context: Context): Card {
  const { settings, nowMs, findings } = context;
  const log = readLog(rows, { schedulerVersion: settings.schedulerVersion, nowMs });
  for (const [reason, count] of log.leftOut) findings.add('review', reason, `card ${row.id}`, count);
  const { schedule, hasBadDue } = scheduleOf(toState(row), log, context);
  const note = (reason: string) => findings.add('note', reason, `card ${row.id}`);
  if (hasBadDue) note(IMPOSSIBLE_DUE);
  if (row.tags === null) note('the note has more than 10,000 bytes of tags: they are left out');
  const past = (ms: number) => (isPast(ms, nowMs) ? ms : undefined);
  return {
    source,
    ...renderCard(row, context, note),
    type: 'flashcard',
    labels: toLabels(labelPaths(row, context), note),
    archiveMs: row.queue === SUSPENDED ? (past(Number(row.mod) * 1000) ?? nowMs) : undefined,
    createMs: past(Number(row.id)) ?? past(Number(row.nid)),
    textMs: past(Number(row.note_mod) * 1000),
    schedule,
    lastReviewMs: log.lastReviewMs,
    reviews: log.reviews,
  };
}

const SUSPENDED = -1;

function toState(row: Row): CardState {
  return {
    type: Number(row.type),
    queue: Number(row.queue),
    due: Number(row.due),
    intervalDays: Number(row.ivl),
    factor: Number(row.factor),
    originalDeckId: Number(row.odid),
    originalDue: Number(row.odue),
  };
}

/** The path of its deck; of a card in a filtered one, of the deck that it came from. */
const deckOf = (row: Row, { decks }: Context) =>
  pathOf(decks.get(Number(row.odid)) ?? decks.get(Number(row.did)) ?? '');

/** The deck, then the tags. */
function labelPaths(row: Row, context: Context): (readonly string[])[] {
  const tags = `${row.tags ?? ''}`.split(/[\s\u3000]+/).filter((tag) => tag !== '');
  return [deckOf(row, context), ...tags.map(pathOf)];
}

function renderCard(row: Row, context: Context, note: Note) {
  const values = `${row.flds}`.split('\u001f');
  const noteType = context.noteTypes.get(Number(row.mid));
  const ord = Number(row.ord);
  const template = noteType?.templates[noteType.isCloze ? 0 : ord];
  if (noteType === undefined || template === undefined) {
    note('its note type or template is missing: the first field is the title, the others the content');
    return plainCard(values, note);
  }
  // The note no longer has this deletion, so the template would not ask anything.
  if (noteType.isCloze && !values.some((value) => hasCloze(value, ord + 1))) return plainCard(values, note);
  const fields = fieldsOf(row, values, { noteType, cardName: template.name }, context);
  const base: Rendering = {
    fields,
    side: 'question',
    clozeNumber: ord + 1,
    frontSide: '',
    showsHints: false,
    showsSpeech: false,
  };
  const textOf = (side: Template, rendering: Rendering) =>
    htmlToText(renderTemplate(side, rendering, MAX_SIDE), { maxLength: MAX_TEXT });
  const front = textOf(template.question, base) || textOf(template.question, { ...base, showsSpeech: true });
  if (front === '') return plainCard(values, note);
  const frontSide = renderTemplate(template.question, { ...base, showsHints: true }, MAX_SIDE);
  const back: Rendering = { ...base, side: 'answer', frontSide, showsHints: true };
  let answer = textOf(template.answer, back);
  if (answer === '' || answer === front) answer = textOf(template.answer, { ...back, showsSpeech: true });
  return toTexts(front, answer, note);
}

const hasCloze = (field: string, number: number) =>
  field.includes('{{c') && clozeNumbers(field).includes(number);

/** The texts of a card that no template can render: the first field is the title, the others are the content. */
function plainCard(values: readonly string[], note: Note) {
  const texts = values
    .map((value) => htmlToText(showWhole(value), { maxLength: MAX_TEXT }))
    .filter((value) => value !== '');
  const [first = '(empty)', ...others] = texts;
  return toTexts(first, others.join('\n\n'), note);
}

function fieldsOf(
  row: Row,
  values: readonly string[],
  { noteType, cardName }: { noteType: NoteType; cardName: string },
  context: Context,
): ReadonlyMap<string, string> {
  const path = deckOf(row, context);
  return new Map([
    ['Tags', `${row.tags ?? ''}`.trim()],
    ['Type', noteType.name],
    ['Deck', path.join('::')],
    ['Subdeck', path.at(-1) ?? ''],
    ['Card', cardName],
    ['CardID', `${row.id}`],
    // "flag0" without one, so that {{#CardFlag}} is always true.
    ['CardFlag', `flag${row.flags ?? 0}`],
    // A field of the note takes precedence.
    ...noteType.fields.map((name, at) => [name, values[at] ?? ''] as const),
  ]);
}
