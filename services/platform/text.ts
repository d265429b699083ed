// What services share about texts: storable, printable, length in code points, URI, JSON.
import { IsUri } from 'typebox/format';

/** Whether PostgreSQL can store the text in UTF-8: no U+0000, no lone surrogate. */
export function isStorable(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed();
}

/** Replaces control characters, which could move a terminal's cursor, colour it or forge a line. */
export function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, '?');
}

/** Length in Unicode code points. */
export function codePointLength(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** The graphemes of a text, which are what a reader sees as one character. */
export function graphemesOf(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** The beginning of a text, of at most so many code points and without a part of a grapheme. */
export function beginningOf(text: string, maxCodePoints: number): string {
  if (text.length <= maxCodePoints) return text;
  // A code point is at most two units, so a grapheme that ends beyond these does not fit in any case.
  return withinCodePoints(graphemesOf(text.slice(0, 4 * maxCodePoints)), maxCodePoints).join('');
}

/** As many of `graphemes` as have at most so many code points together. */
export function withinCodePoints(graphemes: readonly string[], max: number): string[] {
  let left = max;
  return graphemes.filter((grapheme) => {
    left -= codePointLength(grapheme);
    return left >= 0;
  });
}

/** Whether the text is a URI as of RFC 3986, section 3: with a scheme, any scheme, ASCII only. Linear in its length. */
export const isUri = (text: string): boolean => IsUri(text);

/** The value of JSON; undefined for a text that is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether this is an object other than an array, such as one of JSON. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A text without percent-encoding; undefined where that is malformed. */
export function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** A name in camel case, such as sourceUrl, as source_url. */
export type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : '';

/** sourceUrl as source_url. */
export const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** source_url as sourceUrl. */
export const camelCase = (name: string) =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
