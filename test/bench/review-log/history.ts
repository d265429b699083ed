// Learners with a year of reviews, twenty a day, written in the order in which a busy service would have written them.
import { type Cell, TABLES } from '../dataset/copy.ts';
import { idOf, START_MS } from '../dataset/people.ts';
import { createRandom, prose } from '../dataset/words.ts';

export type Learner = {
  userId: string;
  materialIds: readonly string[];
  /** Of each material, by its place. */
  revisions: number[];
};

const REVIEWS_A_DAY = 20;
const MATERIALS_OF_LEARNER = 900;
const DAYS = 365;
const REVIEWS_OF_LEARNER = REVIEWS_A_DAY * DAYS;
const DAY_MS = 86_400_000;
const INTERVALS_DAYS = [0, 1, 6, 15, 38, 95, 237, 592, 1480, 3700];
const GRADES = [4, 5, 3, 4, 2];

/** When the year is over: "now" for all that is asked. */
export const END_MS = START_MS + DAYS * DAY_MS;
export const startOfMonth = (month: number) => new Date(Date.UTC(2025, month, 1));

/** Beside what the benchmark's other data have, the request that made a review: every review of the service has one. */
export const REVIEWS = TABLES.reviews.replace(')', ', x_request_id)');

/** As many as have `reviews` reviews together. */
export function learnersFor(reviews: number): Learner[] {
  const count = Math.max(1, Math.round(reviews / REVIEWS_OF_LEARNER));
  return Array.from({ length: count }, (_, number) => ({
    userId: idOf(`learner ${number}`),
    materialIds: Array.from({ length: MATERIALS_OF_LEARNER }, (_, place) =>
      idOf(`learner ${number} material ${place}`),
    ),
    revisions: Array.from({ length: MATERIALS_OF_LEARNER }, (_, place) =>
      Math.ceil((REVIEWS_OF_LEARNER - place) / MATERIALS_OF_LEARNER),
    ),
  }));
}

export function* materialRows(learners: readonly Learner[]): Generator<Cell[]> {
  const made = new Date(START_MS);
  for (const [number, { userId, materialIds, revisions }] of learners.entries()) {
    const random = createRandom(number);
    for (const [place, materialId] of materialIds.entries()) {
      const due = new Date(END_MS + Math.floor((random() - 0.1) * 90 * DAY_MS));
      yield [
        ...[userId, materialId, prose(random, 32), null, null, 'flashcard', 236, 95],
        ...[5, due, new Date(END_MS - DAY_MS), revisions[place] ?? 0, made, made],
      ];
    }
  }
}

/** The n-th review of the day of every learner, then the next of everyone: neighbours in the table are of different people. */
export function* reviewRows(learners: readonly Learner[]): Generator<Cell[]> {
  const random = createRandom(7);
  for (let index = 0; index < REVIEWS_OF_LEARNER; index += 1) {
    const [day, turn] = [Math.floor(index / REVIEWS_A_DAY), index % REVIEWS_A_DAY];
    const [place, round] = [index % MATERIALS_OF_LEARNER, Math.floor(index / MATERIALS_OF_LEARNER)];
    for (const [number, { userId, materialIds }] of learners.entries()) {
      const timeMs = START_MS + day * DAY_MS + turn * 600_000 + number * 17;
      const before = INTERVALS_DAYS[round] ?? 0;
      const after = INTERVALS_DAYS[round + 1] ?? 3700;
      yield [
        ...[userId, materialIds[place] ?? '', round + 1, newId(timeMs, random)],
        ...[GRADES[(index + number) % GRADES.length] ?? 4, new Date(timeMs)],
        ...[250, before, round, new Date(timeMs - 3_600_000)],
        ...[250, after, round + 1, new Date(timeMs + after * DAY_MS), newId(timeMs, random)],
      ];
    }
  }
}

/** A UUID of version 7, many times faster than one by a digest. */
export function newId(timeMs: number, random: () => number): string {
  const time = timeMs.toString(16).padStart(12, '0');
  const [high, low] = [hex32(random), hex32(random)];
  return `${time.slice(0, 8)}-${time.slice(8)}-7${high.slice(0, 3)}-a${high.slice(3, 6)}-${high.slice(6)}${low}00`;
}

const hex32 = (random: () => number) =>
  Math.floor(random() * 2 ** 32)
    .toString(16)
    .padStart(8, '0');
