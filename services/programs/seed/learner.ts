// Generates a material with the history of a learner's reviews, scheduled by our SM-2.
import { MATERIAL_TYPES, type Material, newMaterial } from '../../scheduling/materials/material.ts';
import { type Review, reviewMaterial } from '../../scheduling/reviews/review.ts';
import type { Quality } from '../../scheduling/reviews/sm2.ts';
import type { Habit } from './habit.ts';

export type LearnerMaterial = { material: Material; reviews: Review[] };
type Ids = (time: Date) => string;
const SUBJECTS = [
  'capital of',
  'date of',
  'author of',
  'formula for',
  'meaning of',
  'inventor of',
  'symbol for',
];
const OBJECTS = [
  'Peru',
  'the printing press',
  'osmosis',
  'Ohm’s law',
  'entropy',
  'Beowulf',
  'zinc',
  'the fugue',
  'Mali',
  'pi',
];

/** A material, reviewed by `habit` on the first day of study on which it is due, from its start on `startDay` until now. */
export function makeMaterial(options: {
  habit: Habit;
  /** Days before now. */
  startDay: number;
  newId: Ids;
}): LearnerMaterial {
  const { habit, startDay, newId } = options;
  const createTime = new Date(habit.timeOf(startDay));
  const title = titleOf();
  const type = MATERIAL_TYPES[Math.floor(Math.random() * MATERIAL_TYPES.length)] ?? 'simple';
  let material = newMaterial({ title, type, content: null, sourceUrl: null }, createTime, newId(createTime));
  const ease = 0.06 * (Math.random() - 0.5);
  const reviews: Review[] = [];
  for (
    let [day, dueDay] = [habit.nextDay(startDay), startDay];
    day !== undefined;
    day = habit.nextDay(dueDay)
  ) {
    const { intervalDays } = material;
    const reviewTime = new Date(Math.max(habit.timeOf(day), createTime.getTime() + 60_000));
    if (reviewTime.getTime() >= habit.nowMs) break;
    const quality = drawGrade(recallOf(habit.recall + ease, intervalDays, dueDay - day));
    const grade = { reviewId: newId(reviewTime), quality, reviewTime, requestId: newId(reviewTime) };
    const outcome = reviewMaterial(material, grade);
    material = outcome.material;
    reviews.push(outcome.review);
    dueDay = day - Math.min(material.intervalDays, habit.longestWaitDays);
  }
  return { material, reviews };
}

/** The chance to recall: lower for what is new, higher for what is mature, and lower each day too late. */
function recallOf(recall: number, intervalDays: number, lateDays: number): number {
  const byAge = intervalDays === 0 ? -0.05 : intervalDays >= 21 ? 0.02 : 0;
  return Math.min(0.97, recall + byAge - 0.005 * lateDays);
}

/** Mostly 4 if recalled; mostly 2 or 1 if not. */
function drawGrade(recall: number): Quality {
  const luck = Math.random();
  if (Math.random() < recall) return luck < 0.2 ? 3 : luck < 0.75 ? 4 : 5;
  return luck < 0.1 ? 0 : luck < 0.45 ? 1 : 2;
}

function titleOf(): string {
  const pick = (words: readonly string[]) => words[Math.floor(Math.random() * words.length)] ?? '';
  return `The ${pick(SUBJECTS)} ${pick(OBJECTS)} (${Math.floor(Math.random() * 1000)})`;
}
