// A card of any program's collection, as the import takes it.
import { beginningOf, codePointLength } from '../platform/text.ts';
import type { Note } from './findings.ts';

export type MaterialType = 'simple' | 'material' | 'flashcard' | 'card';

export type CardSchedule = {
  easeFactor: number;
  intervalDays: number;
  repetitions: number;
  /** Absent: due at once. */
  dueMs?: number | undefined;
};

export type CardReview = {
  /** Identifies the review among those of its card; the same in every export of the collection. */
  id: string;
  timeMs: number;
  quality: number;
  before?: CardSchedule;
  after?: CardSchedule;
};

/** Instants are in milliseconds since 1970. */
export type Card = {
  /** The same for this card in every export of the collection, such as "anki:GUID:0". At most 500 bytes. */
  source: string;
  title: string;
  content?: string | undefined;
  sourceUrl?: string | undefined;
  type: MaterialType;
  labels: readonly string[];
  archiveMs?: number | undefined;
  createMs?: number | undefined;
  /** When the text last changed. */
  textMs?: number | undefined;
  schedule?: CardSchedule | undefined;
  lastReviewMs?: number | undefined;
  /** Oldest first. */
  reviews: readonly CardReview[];
};

/** A part of a collection in memory at a time. */
export type Cards = Iterable<Card> | AsyncIterable<Card>;

export const MAX_TITLE = 240;
/** Of a text that is read from HTML, in UTF-16 units; a material's content has at most 262,144 bytes. */
export const MAX_TEXT = 300_000;
/** Maximum of imported reviews per card; older ones are left out. */
export const MAX_REVIEWS = 50_000;
const MAX_CONTENT_BYTES = 262_144;
export const MAX_INTERVAL_DAYS = 36_500;
export const DEFAULT_EASE_FACTOR = 2.5;
export const MS_OF_DAY = 86_400_000;

const ELLIPSIS = '…';

/** One line of at most 240 code points; empty where `text` is blank. */
export function toTitle(text: string): string {
  const line = cleaned(text).replace(/\s+/g, ' ').trim();
  if (line.length <= MAX_TITLE || codePointLength(line) <= MAX_TITLE) return line;
  return beginningOf(line, MAX_TITLE - 1).trimEnd() + ELLIPSIS;
}

/** Title and content of a card. If the title shortens the question, the content begins with it, unless the answer contains it. */
export function toTexts(question: string, answer: string, note: Note) {
  const title = toTitle(question);
  const isWhole = title === question.replace(/\s+/g, ' ').trim();
  const isRepeated = isWhole || answer.replace(/\s+/g, ' ').includes(question.replace(/\s+/g, ' '));
  const texts = isRepeated ? [answer] : [question, answer];
  return { title, content: toContent(texts.filter((text) => text !== '').join('\n\n'), note) };
}

/** `text` without what cannot be stored, truncated to 262,144 bytes of UTF-8, which is reported to `note`; undefined if empty. */
export function toContent(text: string, note: Note): string | undefined {
  const clean = cleaned(text);
  if (clean === '') return undefined;
  if (3 * clean.length <= MAX_CONTENT_BYTES) return clean;
  const bytes = Buffer.from(clean);
  if (bytes.length <= MAX_CONTENT_BYTES) return clean;
  note('the text is cut at 256 KiB');
  let end = MAX_CONTENT_BYTES;
  // Not within a character.
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}

/** Without U+0000 and lone surrogates, which cannot be stored. */
export function cleaned(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', '') : text).toWellFormed();
}

/** Two decimals, from 1.30. */
export function toEaseFactor(factor: number): number {
  return Math.max(130, Math.min(100_000, Math.round(factor * 100))) / 100;
}

/** Whole days, 0 to 36,500. */
export function toIntervalDays(days: number): number {
  return Math.max(0, Math.min(MAX_INTERVAL_DAYS, Math.round(days)));
}

/**
 * Whether a review, creation or edit can have that time: from 1970 to a day from now. A day is allowed for time zones; a later time
 * comes from a wrong clock.
 */
export function isPast(ms: number, nowMs: number): boolean {
  return ms >= 0 && ms <= nowMs + MS_OF_DAY;
}

/** Said of a card whose due date `isDueTime` refuses. */
export const IMPOSSIBLE_DUE = 'the due date is impossible: due at once';

/** Whether a card can be due then: from 1970 to the longest interval from now. */
export function isDueTime(ms: number, nowMs: number): boolean {
  return ms >= 0 && ms <= nowMs + (MAX_INTERVAL_DAYS + 1) * MS_OF_DAY;
}
