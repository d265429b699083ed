// Reads the cards of a Mnemosyne 2 database, one at a time, each with its reviews.
import { pathOf } from '../anki/note-types.ts';
import { createDays, type Days } from '../anki/schedule.ts';
import {
  type Card,
  type CardReview,
  type CardSchedule,
  cleaned,
  DEFAULT_EASE_FACTOR,
  IMPOSSIBLE_DUE,
  isDueTime,
  isPast,
  MAX_REVIEWS,
  MAX_TEXT,
  MS_OF_DAY,
  toEaseFactor,
  toIntervalDays,
  toTexts,
  toTitle,
} from '../card.ts';
import type { Findings } from '../findings.ts';
import { toLabels } from '../labels.ts';
import { createRowsOfKeys } from '../rows-of-keys.ts';
import { integer, openTables, type Row, type Tables, text } from '../sqlite.ts';
import { htmlToText } from '../text/html-text.ts';
import { createTextSet } from '../text-set.ts';

const MAX_TEXT_BYTES = 1024 * 1024;
const MAX_TAGS = 1000;
/** A row of the log that is an answer. */
const REPETITION = 9;
/** Below this, a card is still to be learnt. */
const LOWEST_PASS = 2;
const UNTAGGED = '__UNTAGGED__';

/** @throws INVALID_REQUEST if the database, a copy of ours, is damaged or none. */
export async function openMnemosyne(path: string, { timeZone, nowMs }: { timeZone: string; nowMs: number }) {
  const tables = await openTables(path, Object.keys(NUMBERS_OF));
  // Of dates, which are numbered from 1970 on.
  const days = createDays({ createdSeconds: 0, minutesWest: 0, rolloverHour: 0, timeZone });
  try {
    return {
      materials: readEverything(tables),
      cards: (findings: Findings) => readCards(tables, { days, nowMs, findings }),
      close: tables.close,
    };
  } catch (error) {
    tables.close();
    throw error;
  }
}

const NUMBERS = [
  'next_rep',
  'last_rep',
  'grade',
  'ret_reps_since_lapse',
  'creation_time',
  'modification_time',
];
/** The tables that a database must have, each with the columns that are read as numbers, whatever their cells have. */
const NUMBERS_OF = {
  cards: [...NUMBERS, 'easiness', 'active', '_fact_id'],
  facts: [],
  data_for_fact: ['_fact_id'],
  log: [
    'event_type',
    'timestamp',
    'grade',
    'easiness',
    'ret_reps_since_lapse',
    'scheduled_interval',
    'next_rep',
  ],
  tags: [],
  tags_for_card: ['_card_id', '_tag_id'],
};

/** Reads each row as the cards will be read, so that damage is found now. @returns how many cards there are. */
function readEverything(tables: Tables): number {
  const [row] = tables.rows(`SELECT count(*) AS count, total(length(${text('question', MAX_TEXT_BYTES)})),
    total(length(${text('answer', MAX_TEXT_BYTES)})) FROM cards`);
  for (const [table, numbers] of Object.entries(NUMBERS_OF)) {
    const sums = ['rowid', ...numbers].map((column) => `total(${real(column)})`);
    [...tables.rows(`SELECT ${sums.join(', ')} FROM ${table}`)];
  }
  return Number(row?.count);
}

/** SQL of a number: whatever the cell has. */
const real = (column: string) => `CAST(${column} AS REAL)`;
const CARDS = `SELECT ${integer('c._id')} AS number, ${text('c.id', 400)} AS id, ${real('c.easiness')} AS easiness, ${integer('c.active')} AS active,
  ${NUMBERS.map((column) => `${integer(`c.${column}`)} AS ${column}`).join(', ')},
  ${text('c.question', MAX_TEXT_BYTES)} AS question, ${text('c.answer', MAX_TEXT_BYTES)} AS answer,
  max(coalesce(octet_length(c.question), 0), coalesce(octet_length(c.answer), 0)) > ${MAX_TEXT_BYTES} AS is_large,
  ${integer('c._fact_id')} AS fact FROM cards c ORDER BY c._id`;
const LOG = `SELECT ${integer('c._id')} AS number, ${integer('l.timestamp')} AS time, ${integer('l.grade')} AS grade, ${real('l.easiness')} AS easiness,
  ${integer('l.ret_reps_since_lapse')} AS passes, ${integer('l.scheduled_interval')} AS interval, ${integer('l.next_rep')} AS next
  FROM log l JOIN cards c ON c.id = l.object_id WHERE l.event_type = ${REPETITION} ORDER BY c._id, l.timestamp, l._id`;
const DELETED = `SELECT count(*) AS count FROM log WHERE event_type = ${REPETITION}
  AND object_id NOT IN (SELECT id FROM cards WHERE id IS NOT NULL)`;
const TAGS = `SELECT ${integer('t._card_id')} AS number, ${text('n.name', 1000)} AS name
  FROM tags_for_card t JOIN tags n ON n._id = t._tag_id ORDER BY t._card_id, n._id`;
const FACTS = `SELECT ${integer('c._id')} AS number, ${text('f.key', 100)} AS key, ${text('f.value', MAX_TEXT_BYTES)} AS value
  FROM cards c JOIN data_for_fact f ON f._fact_id = c._fact_id WHERE coalesce(octet_length(c.question), 0) = 0 ORDER BY c._id`;

type Context = { days: Days; nowMs: number; findings: Findings };

function* readCards(tables: Tables, context: Context): Generator<Card> {
  const { findings } = context;
  const logs = createRowsOfKeys(tables.rows(LOG), 'number', { max: MAX_REVIEWS });
  const tags = createRowsOfKeys(tables.rows(TAGS), 'number', { max: MAX_TAGS });
  const facts = createRowsOfKeys(tables.rows(FACTS), 'number', { max: MAX_TAGS });
  const seen = createTextSet();
  const [deleted] = tables.rows(DELETED);
  if (Number(deleted?.count) > 0) findings.add('review', 'its card is deleted', '', Number(deleted?.count));
  for (const row of tables.rows(CARDS)) {
    const number = Number(row.number);
    const [log, names, fact] = [logs.of(number), tags.of(number), facts.of(number)];
    const leave = (reason: string) => {
      findings.add('material', reason, `card ${number}`);
      findings.add('review', `${reason} (its reviews)`, `card ${number}`, log.length);
    };
    const id = cleaned(`${row.id ?? ''}`);
    if (id === '') leave('the card has no ID');
    else if (row.is_large === 1) leave('the card has more than 1 MiB of text');
    else if (row.answer === null && row.question === null && fact.length === 0) leave('the card has no text');
    else if (seen.has(id)) leave('the card is there twice');
    else yield readCard(row, { id, log, names, fact }, context);
    seen.add(id);
  }
}

type Parts = { id: string; log: readonly Row[]; names: readonly Row[]; fact: readonly Row[] };

function readCard(row: Row, parts: Parts, context: Context): Card {
  const { nowMs, findings } = context;
  const note = (reason: string) => findings.add('note', reason, `card ${row.number}`);
  const { question, answer } = textsOf(row, parts.fact);
  const answerText = htmlToText(toHtml(answer), { maxLength: MAX_TEXT });
  const questionText = htmlToText(toHtml(question), { maxLength: MAX_TEXT });
  const { title, content } = toTexts(questionText, answerText, note);
  const names = parts.names.map(({ name }) => `${name ?? ''}`).filter((name) => name !== UNTAGGED);
  const past = (seconds: number) => (isPast(seconds * 1000, nowMs) ? seconds * 1000 : undefined);
  const schedule = scheduleOf(row, context);
  if (Number(row.grade) >= 0 && schedule.dueMs === undefined) note(IMPOSSIBLE_DUE);
  const reviews = reviewsOf(parts.log, context);
  if (reviews.length < parts.log.length)
    findings.add(
      'review',
      'its time or grade is impossible',
      `card ${row.number}`,
      parts.log.length - reviews.length,
    );
  return {
    source: `mnemosyne:${parts.id}`,
    title: title === '' ? toTitle(answerText) || '(empty)' : title,
    content,
    type: 'flashcard',
    labels: toLabels(names.map(pathOf), note),
    archiveMs: row.active === 0 ? (past(Number(row.modification_time)) ?? nowMs) : undefined,
    createMs: past(Number(row.creation_time)),
    textMs: past(Number(row.modification_time)),
    schedule,
    lastReviewMs: Number(row.grade) >= 0 ? past(Number(row.last_rep)) : undefined,
    reviews,
  };
}

/** As Mnemosyne last showed it; a database that keeps no such texts has the fields of the fact. */
function textsOf({ question, answer }: Row, fact: readonly Row[]): { question: string; answer: string } {
  if (`${question ?? ''}` !== '' || fact.length === 0)
    return { question: `${question ?? ''}`, answer: `${answer ?? ''}` };
  const fields = new Map(fact.map(({ key, value }) => [`${key}`, `${value ?? ''}`]));
  const first = fields.get('f') ?? fields.get('text') ?? [...fields.values()][0] ?? '';
  const others = [...fields].filter(([, value]) => value !== first).map(([, value]) => value);
  return { question: first, answer: others.join('<br>') };
}

/** A line break, or a tag in which it stays as it is: Mnemosyne shows none there. In <pre>, htmlToText keeps it. */
const BREAK_OR_TAG = /\r\n?|\n|<(\/?)(?:ul|table|latex|script|textarea|pre)\b/gi;
const UNMATCHED = /<(?![^<>]*>)/g;
/** A formula of LaTeX. HTML would show its first tag, and take the second for a comment. */
const FORMULA = /<(\$\$?)>((?:(?!<\/?\$).)*)<\/\1>/gs;

/**
 * As Mnemosyne shows a text: its line breaks are <br>, and a "<" without its ">" is a character. Formulas, which it shows as images,
 * stand between dollar signs; in them, each "<" and ">" is a character.
 */
function toHtml(text: string): string {
  let isText = true;
  const withFormulas = text.replace(
    FORMULA,
    (_all, sign: string, formula: string) =>
      `${sign}${formula.replaceAll('<', '&lt;').replaceAll('>', '&gt;')}${sign}`,
  );
  const html = withFormulas.replace(BREAK_OR_TAG, (found: string, slash: string | undefined) => {
    if (slash === undefined) return isText ? '<br>' : found;
    isText = slash === '/';
    return found;
  });
  return html.replace(UNMATCHED, '&lt;');
}

/** A grade of -1: never seen. Of 0 and 1: still to be learnt. Times are in seconds. */
function scheduleOf(row: Row, { days, nowMs }: Context): CardSchedule {
  const [grade, next, last] = [Number(row.grade), Number(row.next_rep), Number(row.last_rep)];
  const easeFactor = easeOf(row.easiness);
  if (grade < 0) return { easeFactor, intervalDays: 0, repetitions: 0 };
  const isLearnt = grade >= LOWEST_PASS;
  const { dueMs, intervalDays } = nextOf({ grade, last, next }, days);
  return {
    easeFactor,
    intervalDays: last > 0 ? intervalDays : 0,
    repetitions: isLearnt ? Math.max(0, Math.min(1_000_000, Number(row.ret_reps_since_lapse))) + 1 : 0,
    dueMs: next > 0 && dueMs !== undefined && isDueTime(dueMs, nowMs) ? dueMs : undefined,
  };
}

const SECONDS_OF_DAY = MS_OF_DAY / 1000;

type Answer = { grade: number; last: number; next: number };

/** When a card is due, and after how many days. The due date of a passed card is stored as midnight in UTC, in every time zone. */
function nextOf(
  { grade, last, next }: Answer,
  days: Days,
): { dueMs: number | undefined; intervalDays: number } {
  if (grade < LOWEST_PASS) return { dueMs: next * 1000, intervalDays: 0 };
  if (next <= 0 || next % SECONDS_OF_DAY !== 0)
    return { dueMs: next * 1000, intervalDays: toIntervalDays((next - last) / SECONDS_OF_DAY) };
  const day = next / SECONDS_OF_DAY;
  return { dueMs: days(day), intervalDays: toIntervalDays(Math.max(1, day - dayOf(last, days))) };
}

/** The number of the local date. Cards of Mnemosyne 1 have it as midnight in UTC. */
function dayOf(seconds: number, days: Days): number {
  const day = Math.floor(seconds / SECONDS_OF_DAY);
  if (seconds % SECONDS_OF_DAY === 0) return day;
  const hasBegun = (number: number) => (days(number) ?? Number.POSITIVE_INFINITY) <= seconds * 1000;
  return [day + 1, day].find(hasBegun) ?? day - 1;
}

const easeOf = (easiness: unknown) =>
  typeof easiness === 'number' && easiness > 0 ? toEaseFactor(easiness) : DEFAULT_EASE_FACTOR;

/** Mnemosyne's grades are those of SM-2. Two answers within a second are told apart by their order. */
function reviewsOf(log: readonly Row[], { days, nowMs }: Context): CardReview[] {
  const reviews: CardReview[] = [];
  let before: CardSchedule = { easeFactor: DEFAULT_EASE_FACTOR, intervalDays: 0, repetitions: 0 };
  const seen = new Map<number, number>();
  for (const row of log) {
    const [seconds, quality, next] = [Number(row.time), Number(row.grade), Number(row.next)];
    if (!isPast(seconds * 1000, nowMs) || quality < 0 || quality > 5) continue;
    const times = (seen.get(seconds) ?? 0) + 1;
    seen.set(seconds, times);
    const isPassed = quality >= LOWEST_PASS;
    const { dueMs = 0, intervalDays } = nextOf({ grade: quality, last: seconds, next }, days);
    const after = {
      easeFactor: easeOf(row.easiness),
      intervalDays,
      repetitions: isPassed ? Math.max(0, Math.min(1_000_000, Number(row.passes))) + 1 : 0,
      dueMs: dueMs > seconds * 1000 && isDueTime(dueMs, nowMs) ? dueMs : seconds * 1000,
    };
    const scheduled = Number(row.interval);
    // It ends at the hour at which Mnemosyne's day begins: rounded, it can lose a day.
    const isKnown = scheduled > 0 && before.intervalDays > 0;
    const id = times === 1 ? `${seconds}` : `${seconds}-${times}`;
    reviews.push({
      id,
      timeMs: seconds * 1000,
      quality,
      before: isKnown ? before : { ...before, intervalDays: toIntervalDays(scheduled / SECONDS_OF_DAY) },
      after,
    });
    before = after;
  }
  return reviews;
}
