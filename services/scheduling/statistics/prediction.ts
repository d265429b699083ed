// How well each scheduler would have predicted a learner's recall, scored on the learner's own reviews. docs/schedulers.md has the
// formulas with their sources.
import { createFsrs, DEFAULT_PARAMETERS, type Fsrs, type Memory } from '../reviews/fsrs.ts';
import type { DayOf } from '../reviews/local-days.ts';
import { isRecalled, type Quality, reviewSchedule } from '../reviews/sm2.ts';

const PREDICTORS = ['sm2', 'average', 'movingAverage', 'fsrs', 'fsrsTrained'] as const;
export type Predictor = (typeof PREDICTORS)[number];

/** A review that counts, as the database gives it, in milliseconds since 1970; the schedule is the one before it. */
export type GradedReview = readonly [
  quality: Quality,
  timeMs: number,
  easeFactorHundredths: number,
  intervalDays: number,
  repetitions: number,
];

/** The reviews of a material in their order. */
export type History = { isArchived: boolean; reviews: readonly GradedReview[] };

/** Parameters of FSRS-6 trained on the learner's `reviews` up to `trainTime`. */
export type Training = { parameters: readonly number[]; trainTime: Date; reviews: number };

/** Reviews whose predicted recall lies in the same twentieth. */
export type CalibrationBin = { reviews: number; recalled: number; meanPrediction: number };

type Score = {
  predictor: Predictor;
  /** Mean over the reviews, with its 95 % confidence interval. 0 is perfect. */
  logLoss: number;
  logLossLow: number;
  logLossHigh: number;
  /** Predicted against kept, 0 to 1, over groups of reviews alike in days, number and lapses. */
  rmseBins: number;
  /** The chance that a recalled review was given a higher prediction than a forgotten one; null where all were the same. */
  auc: number | null;
  /** Whether its log loss is lower than that of the average beyond chance. */
  beatsAverage: boolean;
  /** Where there are reviews, lowest first. */
  bins: readonly CalibrationBin[];
};

export type Prediction = {
  /** How many reviews each predictor is scored on. */
  reviews: number;
  /** Empty below MIN_REVIEWS; with `fsrsTrained` where so many follow the training. */
  scores: readonly Score[];
  /** The lowest log loss of those that beat the average; null where none does. */
  best: Predictor | null;
  /** Active materials with a review, and how many of them FSRS expects to be recalled on `today`. */
  recallNow: { materials: number; recalled: number };
  /** The mean recall that FSRS predicted for the days on which SM-2 would have asked; null without a scored review. */
  recallWhenSm2Asks: number | null;
};

/** Fewer say nothing. */
export const MIN_REVIEWS = 100;
const REVIEWS_IN_A_STEP = 100;

/** A day's first review of a material that was reviewed before, and what was predicted of it. */
type Trial = {
  timeMs: number;
  /** Which history. */
  material: number;
  /** 1: recalled, 0: forgotten. */
  kept: number;
  /** Of RMSE in bins. */
  group: number;
  predicted: Record<Predictor, number>;
  recallWhenSm2Asks: number;
};

/**
 * Scores the predictors on the reviews of a learner. `dayOf`: the learner's calendar days; `today`: one of them. Where enough reviews
 * follow the training, all predictors are scored on these; else those without a training, on all.
 */
export function predict(histories: readonly History[], by: By): Prediction {
  const steps = predictInSteps(histories, by);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

type By = { dayOf: DayOf; today: number; training: Training | null };

/** The same in steps, between which others can have their turn; each takes a few milliseconds for 10,000 reviews. */
export function* predictInSteps(
  histories: readonly History[],
  { dayOf, today, training }: By,
): Generator<undefined, Prediction> {
  const defaults = createFsrs(DEFAULT_PARAMETERS);
  const trained = training === null ? defaults : createFsrs(training.parameters);
  const trials: Trial[] = [];
  const recallNow = { materials: 0, recalled: 0 };
  let ofStep = 0;
  for (const [material, { isArchived, reviews }] of histories.entries()) {
    ofStep += reviews.length;
    if (ofStep > REVIEWS_IN_A_STEP) {
      yield;
      ofStep = 0;
    }
    const memory = replay(reviews, { dayOf, defaults, trained, material, trials });
    if (isArchived || memory === undefined) continue;
    recallNow.materials += 1;
    recallNow.recalled += trained.recall(memory, today);
  }
  yield;
  trials.sort((a, b) => a.timeMs - b.timeMs);
  yield;
  predictByAverages(trials);
  const trainMs = training?.trainTime.getTime() ?? Number.POSITIVE_INFINITY;
  const after = trials.filter(({ timeMs }) => timeMs > trainMs);
  const isTrained = after.length >= MIN_REVIEWS;
  const scored = isTrained ? after : trials;
  const scores = scored.length < MIN_REVIEWS ? [] : yield* scoresOf(scored, isTrained);
  const better = scores.filter(({ beatsAverage }) => beatsAverage);
  return {
    reviews: scored.length,
    scores,
    best: better.toSorted((a, b) => a.logLoss - b.logLoss)[0]?.predictor ?? null,
    recallNow,
    recallWhenSm2Asks:
      scored.length === 0 ? null : meanOf(scored.map(({ recallWhenSm2Asks }) => recallWhenSm2Asks)),
  };
}

/** The chance to recall a material on a day, by its reviews; null without any. */
export function recallOf(
  reviews: readonly GradedReview[],
  { dayOf, day, training }: { dayOf: DayOf; day: number; training: Training | null },
): number | null {
  const fsrs = createFsrs(training?.parameters ?? DEFAULT_PARAMETERS);
  const memory = fsrs.replay(reviews.map(([quality, timeMs]) => ({ quality, day: dayOf(timeMs) })));
  return memory === undefined ? null : fsrs.recall(memory, day);
}

/** Adds the trials of a material; returns what its reviews have left by the trained parameters. */
function replay(
  reviews: readonly GradedReview[],
  {
    dayOf,
    defaults,
    trained,
    material,
    trials,
  }: { dayOf: DayOf; defaults: Fsrs; trained: Fsrs; material: number; trials: Trial[] },
): Memory | undefined {
  let memory: Memory | undefined;
  let trainedMemory: Memory | undefined;
  let [days, lapses, sm2Days] = [0, 0, 0];
  for (const [quality, timeMs, easeFactorHundredths, intervalDays, repetitions] of reviews) {
    const day = dayOf(timeMs);
    // Of a day the first review counts; a clock that was set back counts as the same day.
    if (memory === undefined || day > memory.day) {
      days += 1;
      let recall: number | undefined;
      let trainedRecall: number | undefined;
      if (memory !== undefined && trainedMemory !== undefined) {
        recall = defaults.recall(memory, day);
        trainedRecall = trained === defaults ? recall : trained.recall(trainedMemory, day);
        const elapsedDays = day - memory.day;
        const isKept = isRecalled(quality);
        trials.push({
          timeMs,
          material,
          kept: Number(isKept),
          group: groupOf(elapsedDays, days, lapses),
          predicted: {
            sm2: 0.9 ** (elapsedDays / sm2Days),
            // Known once all trials are in the order of time.
            average: Number.NaN,
            movingAverage: Number.NaN,
            fsrs: recall,
            fsrsTrained: trainedRecall,
          },
          recallWhenSm2Asks: trained.recall(trainedMemory, memory.day + sm2Days),
        });
        if (!isKept) lapses += 1;
      }
      const grade = { quality, day };
      memory = defaults.advance(memory, grade, recall);
      trainedMemory = trained === defaults ? memory : trained.advance(trainedMemory, grade, trainedRecall);
    }
    // Where another scheduler set the interval, that which SM-2 would have set.
    sm2Days = reviewSchedule({ easeFactorHundredths, intervalDays, repetitions }, quality).intervalDays;
  }
  return trainedMemory;
}

/**
 * Reviews are alike by days since the review before, number of the review and lapses, on logarithmic scales
 * (RMSE (bins) of open-spaced-repetition/srs-benchmark). One number for each group.
 */
function groupOf(elapsedDays: number, number: number, lapses: number): number {
  const step = (value: number, logOfBase: number) => Math.floor(Math.log(value) / logOfBase);
  const lapseStep = lapses === 0 ? 0 : 1 + step(lapses, LOG_OF_BASE.lapses);
  return (step(elapsedDays, LOG_OF_BASE.days) * 100 + step(number, LOG_OF_BASE.number)) * 100 + lapseStep;
}

const LOG_OF_BASE = { days: Math.log(3.62), number: Math.log(1.89), lapses: Math.log(1.73) };

/** Where the moving average begins: 1 / (1 + e^-1.2) = 77 %. */
const MOVING_START = 1.2;
const MOVING_STEP = 0.3;

/** What the averages predict of each trial in the order of time, by the trials before it alone. */
function predictByAverages(trials: readonly Trial[]): void {
  let sum = 0;
  let moving = MOVING_START;
  for (const [count, { kept, predicted }] of trials.entries()) {
    // Laplace's rule of succession: one half where nothing is known.
    predicted.average = (sum + 1) / (count + 2);
    predicted.movingAverage = 1 / (1 + Math.exp(-moving));
    moving += MOVING_STEP * (kept - predicted.movingAverage);
    sum += kept;
  }
}

function* scoresOf(trials: readonly Trial[], isTrained: boolean): Generator<undefined, Score[]> {
  const kept = trials.map((trial) => trial.kept);
  const materials = trials.map(({ material }) => material);
  const groups = trials.map(({ group }) => group);
  const predictedBy = (predictor: Predictor) => trials.map(({ predicted }) => predicted[predictor]);
  const lossesOfAverage = lossesOf(predictedBy('average'), kept);
  const scores: Score[] = [];
  for (const predictor of PREDICTORS) {
    if (predictor === 'fsrsTrained' && !isTrained) continue;
    yield;
    const predicted = predictedBy(predictor);
    const losses = lossesOf(predicted, kept);
    const logLoss = confidence(losses, materials, Z_95);
    yield;
    const excess = confidence(less(losses, lossesOfAverage), materials, Z_95_OF_FOUR);
    yield;
    const rmseBins = rmseOf(less(predicted, kept), groups);
    yield;
    scores.push({
      predictor,
      logLoss: logLoss.mean,
      logLossLow: Math.max(0, logLoss.low),
      logLossHigh: Math.min(MAX_LOSS, logLoss.high),
      rmseBins,
      auc: aucOf(predicted, kept),
      beatsAverage: predictor !== 'average' && excess.high < 0,
      bins: binsOf(predicted, kept),
    });
  }
  return scores;
}

/** A prediction that is certain and wrong would cost infinitely much. */
const MIN_PREDICTION = 0.0001;
const MAX_LOSS = -Math.log(MIN_PREDICTION);

function lossesOf(predicted: readonly number[], kept: readonly number[]): number[] {
  return predicted.map((prediction, index) => {
    const held = Math.min(1 - MIN_PREDICTION, Math.max(MIN_PREDICTION, prediction));
    return -Math.log(kept[index] === 1 ? held : 1 - held);
  });
}

/** Quantiles of the normal distribution: two-sided 95 %, and the same for four comparisons together (Bonferroni: 1 - 0.05 / 4). */
const Z_95 = 1.959964;
const Z_95_OF_FOUR = 2.497705;

/**
 * A mean with its confidence interval by the cluster-robust standard error (Liang and Zeger 1986): reviews of one material depend on
 * each other, materials do not.
 */
function confidence(values: readonly number[], materials: readonly number[], z: number) {
  const mean = meanOf(values);
  const ofMaterials = sumsBy(materials, values);
  const count = ofMaterials.length;
  // One material alone says nothing about others.
  if (count < 2) return { mean, low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY };
  const squares = sumOf(ofMaterials.map(({ sum, size }) => (sum - mean * size) ** 2));
  const error = Math.sqrt((squares * count) / (count - 1)) / values.length;
  return { mean, low: mean - z * error, high: mean + z * error };
}

/** The root of the mean square of predicted less kept, over groups weighted by their reviews. */
function rmseOf(excess: readonly number[], groups: readonly number[]): number {
  const squares = sumOf(sumsBy(groups, excess).map(({ sum, size }) => sum ** 2 / size));
  return Math.sqrt(squares / excess.length);
}

/** The Mann-Whitney U statistic over its maximum, ties counting half (Hanley and McNeil 1982). */
function aucOf(predicted: readonly number[], kept: readonly number[]): number | null {
  const sortedOf = (outcome: number) =>
    predicted.filter((_, index) => kept[index] === outcome).sort((a, b) => a - b);
  const [recalled, forgotten] = [sortedOf(1), sortedOf(0)];
  if (recalled.length === 0 || forgotten.length === 0) return null;
  let [below, upTo, sum] = [0, 0, 0];
  for (const prediction of recalled) {
    while (below < forgotten.length && (forgotten[below] ?? 0) < prediction) below += 1;
    while (upTo < forgotten.length && (forgotten[upTo] ?? 0) <= prediction) upTo += 1;
    sum += (below + upTo) / 2;
  }
  return sum / (recalled.length * forgotten.length);
}

const BINS = 20;

function binsOf(predicted: readonly number[], kept: readonly number[]): CalibrationBin[] {
  const bins = predicted.map((prediction) => Math.min(BINS - 1, Math.floor(prediction * BINS)));
  const recalled = sumsBy(bins, kept);
  return sumsBy(bins, predicted)
    .map(({ key, sum, size }, index) => ({
      bin: key,
      reviews: size,
      recalled: recalled[index]?.sum ?? 0,
      meanPrediction: sum / size,
    }))
    .sort((a, b) => a.bin - b.bin)
    .map(({ bin: _, ...of }) => of);
}

/** The values by their keys, in the order in which the keys come first: the sum of each key's, and how many they are. */
function sumsBy(keys: readonly number[], values: readonly number[]) {
  const sums = new Map<number, { key: number; sum: number; size: number }>();
  keys.forEach((key, index) => {
    const of = sums.get(key) ?? { key, sum: 0, size: 0 };
    if (of.size === 0) sums.set(key, of);
    of.sum += values[index] ?? 0;
    of.size += 1;
  });
  return [...sums.values()];
}

const less = (values: readonly number[], others: readonly number[]) =>
  values.map((value, index) => value - (others[index] ?? 0));

const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);
const meanOf = (values: readonly number[]) => sumOf(values) / values.length;
