// What settings mean for the coming days: how many reviews, and the chance to recall at the next review after each. One
// model of memory judges all settings: FSRS, with the best parameters known for the learner.
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
  /** After how many of them the material is recalled at its next review, even if that is after the outlook. */
  recalled: number;
};

const DAY_MS = 86_400_000;
const RECALLED: Quality = 4;
const FORGOTTEN: Quality = 1;
/** A less likely branch is not followed: its probability is added to that of the other outcome. */
const MIN_PROBABILITY = 0.02;

/**
 * Adds the expected reviews of a material in the OUTLOOK_DAYS from `asOf`, if it is reviewed whenever it is due. Each
 * review branches into recalled and forgotten, with the probabilities that `fsrs` predicts; a first review counts as
 * recalled. The first review is at the same time under any settings; the later ones differ.
 */
export function addToOutlook(
  outlook: Outlook,
  { schedule, history }: Upcoming,
  settings: Settings,
  { asOf, fsrs }: { asOf: Date; fsrs: Fsrs },
): void {
  const dayOf = localDays(settings.timeZone);
  const endMs = asOf.getTime() + OUTLOOK_DAYS * DAY_MS;
  type Branch = {
    probability: number;
    state: ReturnType<typeof stateOf>;
    memory: Memory | undefined;
    time: Date;
  };
  const branches: Branch[] = [
    {
      probability: 1,
      state: stateOf(schedule, history, settings),
      memory: fsrs.replay(
        history.map(({ quality, reviewTime }) => ({ quality, day: dayOf(reviewTime.getTime()) })),
      ),
      time: new Date(Math.max(asOf.getTime(), schedule.nextReviewTime?.getTime() ?? 0)),
    },
  ];
  for (let branch = branches.pop(); branch !== undefined; branch = branches.pop()) {
    const { probability, state, memory, time } = branch;
    if (time.getTime() >= endMs) continue;
    const day = dayOf(time.getTime());
    outlook.reviews += probability;
    const recall = memory === undefined ? 1 : fsrs.recall(memory, day);
    for (const [quality, outcome] of outcomesOf(probability, recall)) {
      const { nextReviewTime, ...next } = nextState(state, quality, time, settings);
      const after = fsrs.advance(memory, { quality, day });
      outlook.recalled += outcome * fsrs.recall(after, dayOf(nextReviewTime.getTime()));
      branches.push({ probability: outcome, state: next, memory: after, time: nextReviewTime });
    }
  }
}

/** The grades that a review with this probability may get, with the probability of each. */
function outcomesOf(probability: number, recall: number): [Quality, number][] {
  const [recalled, forgotten] = [probability * recall, probability * (1 - recall)];
  if (Math.min(recalled, forgotten) < MIN_PROBABILITY)
    return [[recall >= 0.5 ? RECALLED : FORGOTTEN, probability]];
  return [
    [RECALLED, recalled],
    [FORGOTTEN, forgotten],
  ];
}
