// What a learner does: when they study, the history of each material, scheduled as by default, and what support did for them.

import type { UserEvent } from '../../accounts/events/sql.ts';
import { newUuid } from '../../platform/uuid.ts';
import { MATERIAL_TYPES, newMaterial } from '../../scheduling/materials/material.ts';
import { createFsrs, type Memory } from '../../scheduling/reviews/fsrs.ts';
import { type Review, reviewMaterial } from '../../scheduling/reviews/review.ts';
import { DEFAULT_SETTINGS } from '../../scheduling/reviews/scheduler.ts';
import type { Quality } from '../../scheduling/reviews/sm2.ts';
import { snoozedNextReviewTime } from '../../scheduling/snoozes/rules.ts';
import type { WholeMaterial } from '../../scheduling/user-data/record.ts';
import { newEvent } from './keys.ts';
import { newTexts } from './texts.ts';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** A longer interval is not reached: what is put away for so long is forgotten. */
const LONGEST_INTERVAL_DAYS = 1000;

/** A material, reviewed by `habit` on the first day of study on which it is due, from its start on `startDay` until now. */
export function makeMaterial(options: {
  habit: Habit;
  /** Days before now. */
  startDay: number;
  isLabelled: boolean;
}): WholeMaterial {
  const { habit, startDay, isLabelled } = options;
  const createTime = new Date(habit.timeOf(startDay));
  const type = MATERIAL_TYPES[Math.floor(Math.random() * MATERIAL_TYPES.length)] ?? 'simple';
  const { label, ...texts } = newTexts();
  const labels = isLabelled ? [label] : null;
  let material = newMaterial({ ...texts, type, labels }, createTime, newUuid(createTime));
  // Some materials are forgotten up to twice as fast as others of the learner, some half as fast.
  const pace = habit.pace * 4 ** (Math.random() - 0.5);
  let memory: Memory | undefined;
  const reviews: Review[] = [];
  for (
    let [day, dueDay] = [habit.nextDay(startDay), startDay];
    day !== undefined;
    day = habit.nextDay(dueDay)
  ) {
    const { intervalDays, easeFactorHundredths } = material;
    const reviewTime = new Date(Math.max(habit.timeOf(day), createTime.getTime() + 60_000));
    if (reviewTime.getTime() >= habit.nowMs) break;
    const isForgotten = (intervalDays * easeFactorHundredths) / 100 > LONGEST_INTERVAL_DAYS;
    const today = Math.floor(reviewTime.getTime() / DAY_MS);
    const quality = drawGrade(isForgotten ? 0 : recallOf(memory, today, pace));
    memory = MEMORIES.advance(memory, { quality, day: today });
    const grade = {
      reviewId: newUuid(reviewTime),
      quality,
      reviewTime,
      requestId: newUuid(reviewTime),
      apiKeyId: null,
    };
    const outcome = reviewMaterial({ material, settings: DEFAULT_SETTINGS, history: reviews }, grade);
    material = outcome.material;
    reviews.push(outcome.review);
    dueDay = day - Math.min(material.intervalDays, habit.longestWaitDays);
  }
  return { isOwn: true, material, source: '', baseline: null, reviews, snoozes: [] };
}

/** Memories of generated learners follow FSRS, so that the pages on predictions have something to find. */
const MEMORIES = createFsrs();
const FIRST_RECALL = 0.85;
/** The chance that a remembered answer is given: lapses of attention are the rest. */
const ATTENTION = 0.98;

/** The probability of recall on `day`, for a learner who forgets at `pace`. */
function recallOf(memory: Memory | undefined, day: number, pace: number): number {
  if (memory === undefined) return FIRST_RECALL;
  return ATTENTION * MEMORIES.recall(memory, memory.day + pace * (day - memory.day));
}

/** Mostly 4 if recalled; mostly 2 or 1 if not. */
export function drawGrade(recall: number): Quality {
  const luck = Math.random();
  if (Math.random() < recall) return luck < 0.2 ? 3 : luck < 0.75 ? 4 : 5;
  return luck < 0.1 ? 0 : luck < 0.45 ? 1 : 2;
}

/** Days count back from now: 0 is the latest, and earlier days are higher. */
type Habit = {
  nowMs: number;
  /** How fast they forget, 0.7 to 1.5: 1 as the average of all learners does. */
  pace: number;
  /** Longer intervals are reviewed early, which SM-2 allows, so that there are as many reviews as asked for. */
  longestWaitDays: number;
  /** The day on which a material that is due on `day` is reviewed; undefined if it still waits. */
  nextDay(day: number): number | undefined;
  /** An instant within the session of `day`. */
  timeOf(day: number): number;
};

/** `quiet`: has stopped for a week; `behind`: for two weeks, has reviewed little of what was due. */
export type Kind = 'steady' | 'quiet' | 'behind';
const QUIET_DAYS = 7;
const BEHIND_DAYS = 14;

/** Draws the days of study of the last `days` days; none if not `isStudying`. */
export function drawHabit(options: {
  nowMs: number;
  days: number;
  longestWaitDays: number;
  isStudying: boolean;
  kind: Kind;
}): Habit {
  const { nowMs, days, longestWaitDays, isStudying, kind } = options;
  const [pace, streakDays] = [0.7 + 0.8 * Math.random(), 5 + 35 * Math.random()];
  /** The chance that what is due is reviewed on a day of study; the rest waits for the next. */
  const diligence = 0.8 + 0.2 * Math.random();
  const sessionMs = (60 + 60 * 20 * Math.random()) * MINUTE_MS;
  const studied: boolean[] = [];
  let breakDays = Math.random() < 0.1 ? 2 + Math.floor(8 * Math.random()) : 0;
  for (let day = 0; day <= days; day += 1) {
    studied.push(isStudying && breakDays === 0 && !(kind === 'quiet' && day < QUIET_DAYS));
    if (breakDays > 0) breakDays -= 1;
    else if (Math.random() < 1 / streakDays)
      breakDays = Math.random() < 0.1 ? 10 : 1 + Math.floor(3 * Math.random());
  }
  return {
    nowMs,
    pace,
    longestWaitDays,
    nextDay(from) {
      for (let day = Math.floor(Math.min(from, days)); day >= 0; day -= 1)
        if (studied[day] && Math.random() < (kind === 'behind' && day < BEHIND_DAYS ? 0.1 : diligence))
          return day;
      return undefined;
    },
    timeOf: (day) =>
      Math.floor(nowMs - (Math.floor(day) + 1) * DAY_MS + sessionMs + 20 * MINUTE_MS * Math.random()),
  };
}

/**
 * The history over which materials start evenly, so that each is reviewed about `reviews` times, and the longest wait between
 * reviews. Fitted to SM-2: up to ten reviews come by themselves, more by not waiting as long.
 */
export function historyFor(reviews: number): { days: number; longestWaitDays: number } {
  const longestWaitDays = Math.min(365, Math.round(36_000 / Math.max(1, reviews) ** 2 + 1));
  const days = Math.min(900, 4 * reviews ** 2);
  return { days: Math.ceil(Math.max(7, days)), longestWaitDays };
}

/** The reviews since the key was made were made with it. */
export function reviewedWith(
  { apiKeyId, createTime }: { apiKeyId: string; createTime: Date },
  materials: readonly WholeMaterial[],
): WholeMaterial[] {
  return materials.map((whole) => ({
    ...whole,
    reviews: whole.reviews.map((review) =>
      review.reviewTime < createTime ? review : { ...review, apiKeyId },
    ),
  }));
}

type PastEvents = {
  /** With the effects of what was done. */
  materials: WholeMaterial[];
  userEvents: UserEvent[];
};

/** Learners with fewer keep all of their materials as they are. */
const MIN_MATERIALS = 10;
const OPERATORS = ['gateway/olga', 'gateway/sam'];

/** The learner snoozes the first material for a day, with `apiKeyId`, or an operator does without one; operators archive the second and change the account. */
export function makePastEvents(
  {
    userId,
    createTime,
    materials,
    apiKeyId,
  }: { userId: string; createTime: Date; materials: WholeMaterial[]; apiKeyId: string | null },
  now: Date,
): PastEvents {
  const [snoozed, archived, ...others] = materials.toSorted((a, b) => dueMs(a) - dueMs(b));
  if (snoozed === undefined || archived === undefined || materials.length < MIN_MATERIALS)
    return { materials, userEvents: [] };
  const between = (from: Date) =>
    new Date(from.getTime() + Math.floor(Math.random() * (now.getTime() - from.getTime())));
  const byOperator = (eventTime: Date, action: string, subjectIds: string[], fields: string[] = []) => {
    const actor = OPERATORS[Math.floor(Math.random() * OPERATORS.length)] ?? '';
    return newEvent({ userId, eventTime, action, subjectIds, fields, actor, isOfKey: false });
  };
  const snoozeTime = between(latest(snoozed.material.updateTime, new Date(now.getTime() - DAY_MS / 4)));
  const archiveTime = between(latest(archived.material.updateTime, new Date(now.getTime() - 20 * DAY_MS)));
  const changeTime = between(latest(createTime, new Date(now.getTime() - 60 * DAY_MS)));
  // Later than it is due, so that the snooze has an effect.
  const until = new Date(Math.max(now.getTime(), dueMs(snoozed)) + DAY_MS);
  const after = snooze(snoozed, { createTime: snoozeTime, snoozeUntilTime: until, apiKeyId });
  const revision = archived.material.revision + 1;
  const material = { ...archived.material, archiveTime, updateTime: archiveTime, revision };
  return {
    materials: [after, { ...archived, material }, ...others],
    userEvents: [
      byOperator(archiveTime, 'archiveMaterial', [material.materialId]),
      byOperator(changeTime, 'updateUser', [], ['timeZone']),
    ],
  };
}

const dueMs = ({ material }: WholeMaterial) => material.nextReviewTime?.getTime() ?? 0;

function snooze(
  whole: WholeMaterial,
  {
    createTime,
    snoozeUntilTime,
    apiKeyId,
  }: { createTime: Date; snoozeUntilTime: Date; apiKeyId: string | null },
): WholeMaterial {
  const { nextReviewTime, revision } = whole.material;
  const afterNextReviewTime = snoozedNextReviewTime(nextReviewTime, snoozeUntilTime, createTime);
  const after = { nextReviewTime: afterNextReviewTime, revision: revision + 1, updateTime: createTime };
  const record = {
    snoozeId: newUuid(createTime),
    snoozeUntilTime,
    reason: 'Not today',
    createTime,
    actor: apiKeyId === null ? 'gateway/olga' : 'rest',
    apiKeyId,
    spreadDays: null,
    requestId: newUuid(createTime),
    cancelTime: null,
    cancelRevision: null,
    position: 1,
    revision: revision + 1,
    beforeNextReviewTime: nextReviewTime,
    afterNextReviewTime,
  };
  return { ...whole, material: { ...whole.material, ...after }, snoozes: [record] };
}

const latest = (a: Date, b: Date) => (a > b ? a : b);
