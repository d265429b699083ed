// Generates a learner: materials with review histories from a forgetting model, scheduled by our SM-2.
import { MATERIAL_TYPES, type Material } from '../../scheduling/materials/material.ts';
import { type Review, reviewMaterial } from '../../scheduling/reviews/review.ts';
import { INITIAL_SCHEDULE, type Quality } from '../../scheduling/reviews/sm2.ts';

export type LearnerMaterial = { material: Material; reviews: Review[] };
type Ids = (time: Date) => string;
/** Uniform in [0, 1). */
type Random = () => number;

const DAY_MS = 86_400_000;
/** Longer intervals are reviewed early, which SM-2 allows. */
const LONGEST_WAIT_DAYS = 60;

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

/** A material with about `reviewCount` reviews, the latest of them before `now`. */
export function makeMaterial(options: {
  reviewCount: number;
  /** Half-life of a new memory, in days: after it, the learner recalls every other time. */
  memoryDays: number;
  now: Date;
  random: Random;
  newId: Ids;
}): LearnerMaterial {
  const { reviewCount, memoryDays, now, random, newId } = options;
  const steps = Math.round(reviewCount * (0.5 + random()));
  const ease = 0.4 + 1.2 * random();
  // Generated on a clock that starts at 0, then shifted to end shortly before now.
  const grades: { day: number; quality: Quality }[] = [];
  let schedule = { material: blankMaterial(new Date(0), '', ''), day: 0, strength: memoryDays * ease };
  for (let step = 0; step < steps; step += 1) {
    const { material, strength } = schedule;
    const wait = Math.min(material.schedule.intervalDays, LONGEST_WAIT_DAYS) + 1.5 * random() ** 3;
    const day = schedule.day + wait;
    const quality = drawGrade(2 ** -(wait / strength), random);
    grades.push({ day, quality });
    const grade = { reviewId: '', quality, reviewTime: new Date(day * DAY_MS) };
    // A success lengthens the half-life; a failure resets it to slightly more than that of a new memory.
    const grown = quality >= 3 ? strength * (1.6 + ease) : Math.max(memoryDays * ease, strength * 0.4);
    schedule = { material: reviewMaterial(material, grade).material, day, strength: grown };
  }
  const start = now.getTime() - (schedule.day + 30 * random() ** 2) * DAY_MS;
  const createTime = new Date(Math.floor(start));
  let material = blankMaterial(createTime, newId(createTime), titleOf(random));
  material.type = MATERIAL_TYPES[Math.floor(random() * MATERIAL_TYPES.length)] ?? 'simple';
  const reviews: Review[] = [];
  for (const { day, quality } of grades) {
    const reviewTime = new Date(Math.floor(start + day * DAY_MS));
    const outcome = reviewMaterial(material, { reviewId: newId(reviewTime), quality, reviewTime });
    material = outcome.material;
    reviews.push(outcome.review);
  }
  return { material, reviews };
}

/** Mostly 4 if recalled, higher for a stronger memory; mostly 1 if not. */
function drawGrade(recall: number, random: Random): Quality {
  const luck = random();
  if (random() < recall) return luck < 0.25 - 0.15 * recall ? 3 : luck < 1 - 0.5 * recall ? 4 : 5;
  return luck < 0.2 ? 0 : luck < 0.65 ? 1 : 2;
}

function titleOf(random: Random): string {
  const pick = (words: readonly string[]) => words[Math.floor(random() * words.length)] ?? '';
  return `The ${pick(SUBJECTS)} ${pick(OBJECTS)} (${Math.floor(random() * 1000)})`;
}

function blankMaterial(createTime: Date, materialId: string, title: string): Material {
  return {
    materialId,
    title,
    content: null,
    sourceUrl: null,
    type: 'simple',
    schedule: INITIAL_SCHEDULE,
    nextReviewTime: createTime,
    lastReviewedTime: null,
    createTime,
    updateTime: createTime,
    archiveTime: null,
    revision: 0,
  };
}
