// Materials as a package of Anki, version 1: a note with one card each, in the deck of its first label.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { Temporal } from 'temporal-polyfill';
import { ZipFile } from 'yazl';
import type { Material } from '../../../generated/scheduling/v1/Material.ts';
import type { MaterialRecord } from '../../../generated/scheduling/v1/MaterialRecord.ts';
import type { Review } from '../../../generated/scheduling/v1/Review.ts';
import { epochMsOf, type Timestamp } from '../../platform/instants.ts';
import { MS_OF_DAY } from '../card.ts';
import { htmlToText } from '../text/html-text.ts';
import { createTextSet } from '../text-set.ts';
import {
  createCollection,
  type Deck,
  finishCollection,
  NOTE_TYPE_ID,
  ROLLOVER_HOUR,
} from './new-collection.ts';
import { escaped } from './template.ts';

/** The day from which due dates count. Any that lies before all of them would do. */
const FIRST_DAY = '2006-01-01';
const [NEW, LEARNING, REVIEW] = [0, 1, 2];
const SUSPENDED = -1;
const REVIEW_KIND = 1;
/** Anki keeps it in 16 bits. */
const MAX_FACTOR = 65_535;

/**
 * Writes the records of an export into `folder`, and returns the package as a stream. `timeZone`: where the learner's days begin.
 */
export async function writePackage(
  records: AsyncIterable<MaterialRecord>,
  { folder, timeZone, nowMs }: { folder: string; timeZone: string; nowMs: number },
): Promise<NodeJS.ReadableStream> {
  const path = join(folder, 'export.anki2');
  const database = createCollection(path);
  const days = createDayNumbers(timeZone);
  const decks = createDecks();
  const guidOf = createGuids();
  const rows = createRows(database, nowMs);
  let material: Material | undefined;
  let log: LogSummary = { count: 0, lapses: 0 };
  let source = '';
  let ids: Ids | undefined;
  for await (const record of records) {
    if (record.material !== null && ids === undefined) {
      material = record.material;
      source = record.source;
      ids = rows.reserve(epochMsOf(material.createTime, 'create_time'));
      log = { count: 0, lapses: 0 };
    }
    if (material === undefined || ids === undefined) continue;
    // Anki has no mark for a review that was undone, and would count it.
    for (const review of record.reviews)
      if (review.undoTime === null) log = rows.addReview(ids.card, review, log);
    if (record.continues) continue;
    rows.addNote(ids.note, { guid: guidOf(material, source), ...noteOf(material) });
    rows.addCard(ids, decks.idOf(material.labels[0]), cardOf(material, log, { days, nowMs }));
    ids = undefined;
  }
  finishCollection(database, {
    createdMs: days.createdMs,
    minutesWest: days.minutesWest,
    nowMs,
    decks: decks.all(),
  });
  const zip = new ZipFile();
  zip.addFile(path, 'collection.anki2');
  zip.addBuffer(Buffer.from('{}'), 'media');
  zip.end();
  return zip.outputStream;
}

type Ids = { note: number; card: number };
type LogSummary = { count: number; lapses: number };
type Note = { guid: string; mod: number; tags: string; front: string; back: string; sort: string };
type CardRow = ReturnType<typeof cardOf>;

/** Inserts rows. Their IDs are instants in milliseconds, each unique and none in the future. */
function createRows(database: DatabaseSync, nowMs: number) {
  const note = database.prepare("INSERT INTO notes VALUES (?, ?, ?, ?, -1, ?, ?, ?, ?, 0, '')");
  const card = database.prepare(
    "INSERT INTO cards VALUES (?, ?, ?, 0, ?, -1, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, '')",
  );
  const review = database.prepare('INSERT OR IGNORE INTO revlog VALUES (?, ?, -1, ?, ?, ?, ?, 0, ?)');
  const cardIds = new Set<number>();
  const nextFree = new Map<number, number>();
  const insertReview = (ms: number, ...values: number[]) => {
    for (let id = nextFree.get(ms) ?? ms; ; id += 1) {
      if (review.run(id, ...values).changes === 0) continue;
      if (id !== ms) nextFree.set(ms, id + 1);
      return;
    }
  };
  return {
    reserve(createMs: number): Ids {
      const ms = Math.min(createMs, nowMs);
      let id = nextFree.get(-ms) ?? ms;
      while (cardIds.has(id)) id += 1;
      if (id !== ms) nextFree.set(-ms, id + 1);
      cardIds.add(id);
      return { note: id, card: id };
    },
    addReview(cardId: number, row: Review, log: LogSummary): LogSummary {
      const { ease, interval, lastInterval, factor, type, ms } = logRowOf(row);
      insertReview(ms, cardId, ease, interval, lastInterval, factor, type);
      // As in Anki, a failure while the card is learnt is no lapse.
      const isLapse = ease === 1 && (row.before?.repetitions ?? 0) > 0;
      return { count: log.count + 1, lapses: log.lapses + (isLapse ? 1 : 0) };
    },
    addNote(id: number, { guid, mod, tags, front, back, sort }: Note) {
      const sum = Number.parseInt(createHash('sha1').update(sort).digest('hex').slice(0, 8), 16);
      note.run(id, guid, NOTE_TYPE_ID, mod, tags, `${front}\u001f${back}`, sort, sum);
    },
    addCard({ note: noteId, card: cardId }: Ids, deckId: number, row: CardRow) {
      const { type, queue, due, ivl, factor, reps, lapses, mod } = row;
      card.run(cardId, noteId, deckId, mod, type, queue, due, ivl, factor, reps, lapses);
    },
  };
}

/**
 * Returns a function that gives each note a unique GUID: that of the Anki note whose first card became the material, so that Anki
 * recognizes it; otherwise the material's ID.
 */
function createGuids() {
  const given = createTextSet();
  return ({ materialId }: Material, source: string): string => {
    const own = /^anki:(.*):0$/.exec(source)?.[1] ?? materialId;
    let guid = own;
    for (let number = 2; given.has(guid); number += 1) guid = `${own}-${number}`;
    given.add(guid);
    return guid;
  };
}

function noteOf({ title, content = '', labels, updateTime }: Material): Omit<Note, 'guid'> {
  return {
    mod: Math.floor(epochMsOf(updateTime, 'update_time') / 1000),
    tags: labels.length > 1 ? ` ${labels.slice(1).map(tagOf).join(' ')} ` : '',
    front: toHtml(title),
    back: toHtml(content),
    sort: title,
  };
}

const tagOf = (label: string) => label.replaceAll('/', '::').replace(/\s+/g, '_');

/** HTML that shows the text, and that our own import turns back into it. */
function toHtml(text: string): string {
  const plain = text.replaceAll('\u001f', ' ').replaceAll('\r\n', '\n');
  const escapedText = escaped(plain);
  const html = escapedText.replace(/(?<=^|<br>) {2,}/g, (indent) => '&nbsp;'.repeat(indent.length));
  if (htmlToText(html) === plain) return html;
  // In <pre>, Anki shows no formula.
  return `<pre style="white-space: pre-wrap; font: inherit">${escapedText.replaceAll('<br>', '\n')}</pre>`;
}

/** Anki's buttons are four: 0, 1 and 2 were all a lapse. */
function logRowOf({ quality = 0, reviewTime, before, after }: Review) {
  const ms = epochMsOf(reviewTime, 'review_time');
  const afterMs = after?.nextReviewTime ? epochMsOf(after.nextReviewTime, 'next_review_time') : ms;
  const days = after?.intervalDays ?? 0;
  return {
    ms,
    ease: Math.max(1, quality - 1),
    interval: days > 0 ? days : -Math.max(1, Math.round(Math.min(MS_OF_DAY, afterMs - ms) / 1000)),
    lastInterval: before?.intervalDays ?? 0,
    factor: Math.min(MAX_FACTOR, Math.round((after?.easeFactor ?? 2.5) * 1000)),
    // Programs that read packages take an answer while learning for a failure.
    type: REVIEW_KIND,
  };
}

type DayNumbers = ReturnType<typeof createDayNumbers>;

/** Which day of the collection an instant is on; a day begins at the rollover hour. */
function createDayNumbers(timeZone: string) {
  const firstDay = Temporal.PlainDate.from(FIRST_DAY);
  const created = firstDay.toZonedDateTime({ timeZone, plainTime: { hour: ROLLOVER_HOUR } });
  return {
    createdMs: created.epochMilliseconds,
    minutesWest: -Math.round(created.offsetNanoseconds / 60e9),
    of(ms: number): number {
      const local = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timeZone).toPlainDateTime();
      return firstDay.until(local.subtract({ hours: ROLLOVER_HOUR }).toPlainDate()).days;
    },
  };
}

/** Without a review a card is new; with an interval it is in review, else still in learning. */
function cardOf(material: Material, log: LogSummary, { days, nowMs }: { days: DayNumbers; nowMs: number }) {
  const { easeFactor, intervalDays, repetitions, nextReviewTime, lastReviewedTime, archiveTime, updateTime } =
    material;
  const isNew = intervalDays === 0 && repetitions === 0 && lastReviewedTime === null;
  const type = isNew ? NEW : intervalDays > 0 ? REVIEW : LEARNING;
  const dueMs = dueOf(nextReviewTime) ?? nowMs;
  return {
    type,
    queue: archiveTime === null ? type : SUSPENDED,
    due: isNew ? 0 : type === REVIEW ? days.of(dueMs) : Math.floor(dueMs / 1000),
    ivl: intervalDays,
    factor: isNew ? 0 : Math.min(MAX_FACTOR, Math.round(easeFactor * 1000)),
    reps: isNew ? 0 : Math.max(1, log.count),
    lapses: log.lapses,
    mod: Math.floor(epochMsOf(updateTime, 'update_time') / 1000),
  };
}

const dueOf = (time: Timestamp | null) => (time === null ? undefined : epochMsOf(time, 'next_review_time'));

/** A deck for each first label, and those above it. Anki takes names that differ in case alone for the same. */
function createDecks() {
  const decks = new Map<string, Deck>([['default', { id: 1, name: 'Default' }]]);
  const idOf = (name: string): number => {
    const key = name.normalize('NFC').toLowerCase();
    const known = decks.get(key);
    if (known !== undefined) return known.id;
    const above = name.lastIndexOf('::');
    if (above > 0) idOf(name.slice(0, above));
    const deck = { id: NOTE_TYPE_ID + decks.size, name };
    decks.set(key, deck);
    return deck.id;
  };
  return {
    idOf: (label: string | undefined) => (label === undefined ? 1 : idOf(label.replaceAll('/', '::'))),
    all: () => [...decks.values()],
  };
}
