// Counts of a window of days and of the period before it, which has the same length.
/** @import { Count, Overview } from '../types.d.ts' */

/** @typedef {{ date: string, count: Count }} Day */
/** @typedef {Overview['both']['retention']['bands']} Bands */

/** @param {readonly { reviews: number, recalled: number }[]} counts @returns {Count} */
export function sumOf(counts) {
  const reviews = counts.reduce((sum, count) => sum + count.reviews, 0);
  const recalled = counts.reduce((sum, count) => sum + count.recalled, 0);
  return { reviews, recalled, retention: reviews === 0 ? null : recalled / reviews };
}

/** The two halves of twice the window. @param {readonly Day[]} days */
export function halves(days) {
  const middle = days.length / 2;
  return { before: days.slice(0, middle), window: days.slice(middle) };
}

/** Groups days into spans that end with the last day; an incomplete first span is left out. @param {readonly Day[]} days @param {number} length */
export function spansOf(days, length) {
  const spans = [];
  for (let start = days.length % length; start < days.length; start += length) {
    const span = days.slice(start, start + length);
    spans.push({ date: span[0]?.date ?? '', count: sumOf(span.map(({ count }) => count)) });
  }
  return spans;
}

/** As Anki has it: a material is mature from an interval of 21 days on; a first review counts as neither. */
const AGES = { young: ['DAYS_1_TO_6', 'DAYS_7_TO_20'], mature: ['DAYS_21_TO_89', 'DAYS_90_AND_MORE'] };

/**
 * Retention of an age in the window, and in the period before it.
 * @param {'young' | 'mature'} age
 * @param {Bands} inWindow
 * @param {Bands} inBoth
 */
export function retentionOf(age, inWindow, inBoth) {
  const of = (/** @type {Bands} */ bands) =>
    sumOf(bands.flatMap(({ band, count }) => (AGES[age].includes(band) ? [count] : [])));
  const [window, both] = [of(inWindow), of(inBoth)];
  const [reviews, recalled] = [both.reviews - window.reviews, both.recalled - window.recalled];
  return { window, before: sumOf([{ reviews, recalled }]) };
}
