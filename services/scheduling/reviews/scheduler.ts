// Schedulers: each turns a material's state, a grade, an instant and the learner's settings into the next state. Only
// this file knows which schedulers there are.
import { createFsrs, DEFAULT_PARAMETERS, type Fsrs, type Memory } from './fsrs.ts';
import { localDays } from './local-days.ts';
import { type Quality, reviewSchedule, type Schedule } from './sm2.ts';

export const SCHEDULERS = ['sm2', 'fsrs'] as const;
export type SchedulerName = (typeof SCHEDULERS)[number];

/** A learner's settings. Each change makes a new version, and the old ones are kept: reviews name theirs. */
export type Settings = {
  /** Counts the changes; 0: never changed. */
  version: number;
  scheduler: SchedulerName;
  /** The chance to recall at which FSRS makes a material due, 0.70 to 0.97. */
  desiredRetention: number;
  /** IANA zone of the calendar days of FSRS. */
  timeZone: string;
  /** The 21 numbers of FSRS-6; null: its defaults. */
  parameters: readonly number[] | null;
};

export const DEFAULT_SETTINGS: Settings = {
  version: 0,
  scheduler: 'sm2',
  desiredRetention: 0.9,
  timeZone: 'UTC',
  parameters: null,
};

/** Whether the value is a valid desired retention. */
export const isDesiredRetention = (share: number) => share >= 0.7 && share <= 0.97;

/** A review in the memory of a material. */
export type PastReview = { quality: Quality; reviewTime: Date };

/** What a scheduler starts from. `memory`: the memory after the material's reviews, for schedulers that need it. */
export type State = Schedule & { memory?: Memory | undefined };

type NextState = Schedule & { nextReviewTime: Date; memory?: Memory };

type Scheduler = {
  /** Whether a state has a memory, so that the material's reviews have to be read. */
  needsHistory: boolean;
  memoryOf(
    history: readonly PastReview[],
    settings: Settings,
    memory: Memory | undefined,
  ): Memory | undefined;
  next(state: State, quality: Quality, reviewTime: Date, settings: Settings): NextState;
};

const DAY_MS = 86_400_000;

/** A day is always 86,400 s: changes to and from daylight-saving time do not move a review. */
function dueAfter(intervalDays: number, reviewTime: Date): Date {
  return new Date(reviewTime.getTime() + intervalDays * DAY_MS);
}

const sm2: Scheduler = {
  needsHistory: false,
  memoryOf: () => undefined,
  next(state, quality, reviewTime) {
    const schedule = reviewSchedule(state, quality);
    return { ...schedule, nextReviewTime: dueAfter(schedule.intervalDays, reviewTime) };
  },
};

/** FSRS sets the interval. SM-2 goes on computing ease factor and repetitions, so that switching back loses nothing. */
const fsrs: Scheduler = {
  needsHistory: true,
  memoryOf(history, settings, memory) {
    if (history.length === 0) return memory;
    const dayOf = localDays(settings.timeZone);
    return fsrsOf(settings).replay(
      history.map(({ quality, reviewTime }) => ({ quality, day: dayOf(reviewTime.getTime()) })),
      memory,
    );
  },
  next(state, quality, reviewTime, settings) {
    const algorithm = fsrsOf(settings);
    const day = localDays(settings.timeZone)(reviewTime.getTime());
    const memory = algorithm.advance(state.memory, { quality, day });
    const intervalDays = algorithm.intervalDays(memory);
    const { easeFactorHundredths, repetitions } = reviewSchedule(state, quality);
    return {
      easeFactorHundredths,
      intervalDays,
      repetitions,
      nextReviewTime: dueAfter(intervalDays, reviewTime),
      memory,
    };
  },
};

const REGISTRY: Record<SchedulerName, Scheduler> = { sm2, fsrs };

/** Made once for the same settings: to make one takes as long as many reviews. */
const knownFsrs = new WeakMap<Settings, Fsrs>();

/** FSRS with a learner's parameters. */
function fsrsOf(settings: Settings): Fsrs {
  const { parameters, desiredRetention } = settings;
  const algorithm = knownFsrs.get(settings) ?? createFsrs(parameters ?? DEFAULT_PARAMETERS, desiredRetention);
  knownFsrs.set(settings, algorithm);
  return algorithm;
}

/** Whether the learner's scheduler needs a material's reviews. */
export function needsHistory({ scheduler }: Pick<Settings, 'scheduler'>): boolean {
  return REGISTRY[scheduler].needsHistory;
}

/** The state of a material after these reviews, in order. `earlier`: the memory after the reviews before them. */
export function stateOf(
  { easeFactorHundredths, intervalDays, repetitions }: Schedule,
  history: readonly PastReview[],
  settings: Settings,
  earlier?: Memory,
): State {
  const memory = REGISTRY[settings.scheduler].memoryOf(history, settings, earlier);
  return { easeFactorHundredths, intervalDays, repetitions, ...(memory && { memory }) };
}

/** The state after a grade at `reviewTime`. */
export function nextState(state: State, quality: Quality, reviewTime: Date, settings: Settings): NextState {
  return REGISTRY[settings.scheduler].next(state, quality, reviewTime, settings);
}

/** The schedule after a grade at `reviewTime` of a material with these reviews. */
export function nextSchedule(
  schedule: Schedule,
  { history, settings }: { history: readonly PastReview[]; settings: Settings },
  quality: Quality,
  reviewTime: Date,
): Schedule & { nextReviewTime: Date } {
  const { memory: _, ...next } = nextState(
    stateOf(schedule, history, settings),
    quality,
    reviewTime,
    settings,
  );
  return next;
}
