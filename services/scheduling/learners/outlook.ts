// What settings make of the coming days: how many reviews they take, and how likely recall is when those materials are asked for again.
// One model of memory judges all schedulers and parameters: FSRS, as it knows the learner best.
import type { Fsrs, Memory } from '../reviews/fsrs.ts';
import { localDays } from '../reviews/local-days.ts';
import { nextState, type PastReview, type Settings, stateOf } from '../reviews/scheduler.ts';
import type { Quality, ScheduleAt } from '../reviews/sm2.ts';

export const OUTLOOK_DAYS = 30;

/** A material that is due within the outlook. */
export type Upcoming = { schedule: ScheduleAt; history: readonly PastReview[] };

/** Of some materials, expected numbers, which may be fractions. */
export type Outlook = {
  reviews: number;
  /** After how many of them the material is recalled when it is asked for again, be that after the outlook. */
  recalled: number;
};

const DAY_MS = 86_400_000;
const RECALLED: Quality = 4;
const FORGOTTEN: Quality = 1;
/** A rarer course of events is not followed: its share goes to the likelier outcome. */
const MIN_SHARE = 0.02;

/**
 * Adds what a material takes in the coming OUTLOOK_DAYS from `asOf`, by the memory of `fsrs`, if it is reviewed whenever it is due. A
 * review goes both ways, each with its chance; a first review counts as recalled. So the first review is at the same time under any
 * settings, and the later ones differ.
 */
export function addToOutlook(
  outlook: Outlook,
  { schedule, history }: Upcoming,
  settings: Settings,
  { asOf, fsrs }: { asOf: Date; fsrs: Fsrs },
): void {
  const dayOf = localDays(settings.timeZone);
  const endMs = asOf.getTime() + OUTLOOK_DAYS * DAY_MS;
  type Course = { share: number; state: ReturnType<typeof stateOf>; memory: Memory | undefined; time: Date };
  const courses: Course[] = [
    {
      share: 1,
      state: stateOf(schedule, history, settings),
      memory: fsrs.replay(
        history.map(({ quality, reviewTime }) => ({ quality, day: dayOf(reviewTime.getTime()) })),
      ),
      time: new Date(Math.max(asOf.getTime(), schedule.nextReviewTime?.getTime() ?? 0)),
    },
  ];
  for (let course = courses.pop(); course !== undefined; course = courses.pop()) {
    const { share, state, memory, time } = course;
    if (time.getTime() >= endMs) continue;
    const day = dayOf(time.getTime());
    outlook.reviews += share;
    const recall = memory === undefined ? 1 : fsrs.recall(memory, day);
    for (const [quality, outcome] of outcomesOf(share, recall)) {
      const { nextReviewTime, ...next } = nextState(state, quality, time, settings);
      const after = fsrs.advance(memory, { quality, day });
      outlook.recalled += outcome * fsrs.recall(after, dayOf(nextReviewTime.getTime()));
      courses.push({ share: outcome, state: next, memory: after, time: nextReviewTime });
    }
  }
}

/** The grades that a review of this share may get, with the share of each. */
function outcomesOf(share: number, recall: number): [Quality, number][] {
  const [recalled, forgotten] = [share * recall, share * (1 - recall)];
  if (Math.min(recalled, forgotten) < MIN_SHARE) return [[recall >= 0.5 ? RECALLED : FORGOTTEN, share]];
  return [
    [RECALLED, recalled],
    [FORGOTTEN, forgotten],
  ];
}
