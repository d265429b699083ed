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

/** The reviews of a material in the order of time. */
export type History = { isArchived: boolean; reviews: readonly GradedReview[] };

/** Parameters of FSRS-6 trained on the learner's `reviews` up to `trainTime`. */
export type Training = { parameters: readonly number[]; trainTime: Date; reviews: number };

/** Reviews whose predicted recall lies in the same twentieth. */
type CalibrationBin = { reviews: number; recalled: number; meanPrediction: number };

type Score = {
  predictor: Predictor;
  /** Mean over the reviews, with its 95 % confidence interval. 0 is perfect. */
  logLoss: number;
  logLossLow: number;
  logLossHigh: number;
  /** Root mean square of predicted minus actual recall, 0 to 1, over groups alike in days, number and lapses. */
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

/** Fewer reviews are not scored. */
export const MIN_REVIEWS = 100;
const REVIEWS_IN_A_STEP = 100;

/**
 * The reviews to score, each the first on its day of a material reviewed before, with their predictions. Columns of
 * numbers: an object for each review would take several times as long.
 */
type Trials = ReturnType<typeof allocateTrials>;

function allocateTrials(reviews: number) {
  return {
    count: 0,
    timeMs: new Float64Array(reviews),
    /** Which history. */
    material: new Int32Array(reviews),
    /** 1: recalled, 0: forgotten. */
    kept: new Uint8Array(reviews),
    /** Of RMSE in bins. */
    group: new Int32Array(reviews),
    sm2: new Float64Array(reviews),
    fsrs: new Float64Array(reviews),
    fsrsTrained: new Float64Array(reviews),
    recallWhenSm2Asks: new Float64Array(reviews),
  };
}

/**
 * Scores the predictors on the reviews of a learner. `dayOf`: the learner's calendar days; `today`: one of them. If at
 * least MIN_REVIEWS follow the training, all predictors are scored on those; otherwise all but `fsrsTrained`, on all
 * reviews.
 */
export function predict(histories: readonly History[], by: By): Prediction {
  const steps = predictInSteps(histories, by);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

type By = { dayOf: DayOf; today: number; training: Training | null };

/** The same in steps, between which a caller can let others run; a step takes about 1 ms at most for 10,000 reviews. */
export function* predictInSteps(
  histories: readonly History[],
  { dayOf, today, training }: By,
): Generator<undefined, Prediction> {
  const defaults = createFsrs(DEFAULT_PARAMETERS);
  const trained = training === null ? defaults : createFsrs(training.parameters);
  const trials = allocateTrials(histories.reduce((sum, { reviews }) => sum + reviews.length, 0));
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
  const order = inOrder(trials);
  yield;
  const trainMs = training?.trainTime.getTime() ?? Number.POSITIVE_INFINITY;
  let after = 0;
  for (const trial of order) if ((trials.timeMs[trial] ?? 0) > trainMs) after += 1;
  const isTrained = after >= MIN_REVIEWS;
  const first = isTrained ? order.length - after : 0;
  const scored = order.subarray(first);
  const scores = scored.length < MIN_REVIEWS ? [] : yield* scoresOf(trials, order, first, isTrained);
  const better = scores.filter(({ beatsAverage }) => beatsAverage);
  return {
    reviews: scored.length,
    scores,
    best: better.toSorted((a, b) => a.logLoss - b.logLoss)[0]?.predictor ?? null,
    recallNow,
    recallWhenSm2Asks: scored.length === 0 ? null : meanOf(picked(trials.recallWhenSm2Asks, scored)),
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

/** Adds the trials of a material. @returns its memory by the trained parameters. */
function replay(
  reviews: readonly GradedReview[],
  {
    dayOf,
    defaults,
    trained,
    material,
    trials,
  }: { dayOf: DayOf; defaults: Fsrs; trained: Fsrs; material: number; trials: Trials },
): Memory | undefined {
  let memory: Memory | undefined;
  let trainedMemory: Memory | undefined;
  let [days, lapses, sm2Days] = [0, 0, 0];
  for (const [quality, timeMs, easeFactorHundredths, intervalDays, repetitions] of reviews) {
    const day = dayOf(timeMs);
    // Only the first review of a day counts. A clock that was set back counts as the same day.
    if (memory === undefined || day > memory.day) {
      days += 1;
      let recall: number | undefined;
      let trainedRecall: number | undefined;
      if (memory !== undefined && trainedMemory !== undefined) {
        recall = defaults.recall(memory, day);
        trainedRecall = trained === defaults ? recall : trained.recall(trainedMemory, day);
        const elapsedDays = day - memory.day;
        const isKept = isRecalled(quality);
        const trial = trials.count;
        trials.count += 1;
        trials.timeMs[trial] = timeMs;
        trials.material[trial] = material;
        trials.kept[trial] = Number(isKept);
        trials.group[trial] = groupOf(elapsedDays, days, lapses);
        trials.sm2[trial] = 0.9 ** (elapsedDays / sm2Days);
        trials.fsrs[trial] = recall;
        trials.fsrsTrained[trial] = trainedRecall;
        trials.recallWhenSm2Asks[trial] = trained.recall(trainedMemory, memory.day + sm2Days);
        if (!isKept) lapses += 1;
      }
      const grade = { quality, day };
      memory = defaults.advance(memory, grade, recall);
      trainedMemory = trained === defaults ? memory : trained.advance(trainedMemory, grade, trainedRecall);
    }
    // The interval that SM-2 would have set, even if another scheduler set it.
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

/** What the averages predicted of each trial in the order of time, by the trials before it alone. */
function averagesOf(keptInOrder: Float64Array) {
  const average = new Float64Array(keptInOrder.length);
  const movingAverage = new Float64Array(keptInOrder.length);
  let sum = 0;
  let moving = MOVING_START;
  for (let count = 0; count < keptInOrder.length; count += 1) {
    const kept = keptInOrder[count] ?? 0;
    // Laplace's rule of succession: one half where nothing is known.
    average[count] = (sum + 1) / (count + 2);
    const predicted = 1 / (1 + Math.exp(-moving));
    movingAverage[count] = predicted;
    moving += MOVING_STEP * (kept - predicted);
    sum += kept;
  }
  return { average, movingAverage };
}

/** Of the trials of `order` from `first` on. */
function* scoresOf(
  trials: Trials,
  order: Uint32Array,
  first: number,
  isTrained: boolean,
): Generator<undefined, Score[]> {
  const scored = order.subarray(first);
  const { average, movingAverage } = averagesOf(picked(trials.kept, order));
  const predictions: Record<Predictor, Float64Array | undefined> = {
    sm2: picked(trials.sm2, scored),
    average: average.subarray(first),
    movingAverage: movingAverage.subarray(first),
    fsrs: picked(trials.fsrs, scored),
    fsrsTrained: isTrained ? picked(trials.fsrsTrained, scored) : undefined,
  };
  yield;
  const kept = picked(trials.kept, scored);
  const materials = groupedBy(picked(trials.material, scored));
  yield;
  const groups = groupedBy(picked(trials.group, scored));
  const lossesOfAverage = lossesOf(average.subarray(first), kept);
  const scores: Score[] = [];
  for (const predictor of PREDICTORS) {
    yield;
    const predicted = predictions[predictor];
    if (predicted === undefined) continue;
    const losses = lossesOf(predicted, kept);
    const logLoss = confidence(losses, materials, Z_95);
    yield;
    const excess = subtract(losses, lossesOfAverage);
    const beatsAverage = predictor !== 'average' && confidence(excess, materials, Z_95_OF_FOUR).high < 0;
    yield;
    const rmseBins = rmseOf(predicted, kept, groups);
    yield;
    const auc = aucOf(predicted, kept);
    yield;
    scores.push({
      predictor,
      logLoss: logLoss.mean,
      logLossLow: Math.max(0, logLoss.low),
      logLossHigh: Math.min(MAX_LOSS, logLoss.high),
      rmseBins,
      auc,
      beatsAverage,
      bins: binsOf(predicted, kept),
    });
  }
  return scores;
}

/** A prediction that is certain and wrong would cost infinitely much. */
const MIN_PREDICTION = 0.0001;
const MAX_LOSS = -Math.log(MIN_PREDICTION);

function lossesOf(predicted: Float64Array, kept: Float64Array): Float64Array {
  const losses = new Float64Array(predicted.length);
  for (let index = 0; index < predicted.length; index += 1) {
    const clamped = Math.min(1 - MIN_PREDICTION, Math.max(MIN_PREDICTION, predicted[index] ?? 0));
    losses[index] = -Math.log(kept[index] === 1 ? clamped : 1 - clamped);
  }
  return losses;
}

/** Quantiles of the normal distribution: two-sided 95 %, and the same for four comparisons together (Bonferroni: 1 - 0.05 / 4). */
const Z_95 = 1.959964;
const Z_95_OF_FOUR = 2.497705;

/**
 * A mean with its confidence interval by the cluster-robust standard error (Liang and Zeger 1986): reviews of one material depend on
 * each other, materials do not.
 */
function confidence(values: Float64Array, materials: Groups, z: number) {
  const mean = meanOf(values);
  // One material alone says nothing about others.
  if (materials.count < 2) return { mean, low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY };
  const squares = sumsOf(materials, values).reduce(
    (sum, ofMaterial, material) => sum + (ofMaterial - mean * (materials.sizes[material] ?? 0)) ** 2,
    0,
  );
  const error = Math.sqrt((squares * materials.count) / (materials.count - 1)) / values.length;
  return { mean, low: mean - z * error, high: mean + z * error };
}

/** The root of the mean square of predicted less kept, over groups weighted by their reviews. */
function rmseOf(predicted: Float64Array, kept: Float64Array, groups: Groups): number {
  const excess = sumsOf(groups, subtract(predicted, kept));
  const squares = excess.reduce((sum, each, group) => sum + each ** 2 / (groups.sizes[group] ?? 1), 0);
  return Math.sqrt(squares / predicted.length);
}

/** The Mann-Whitney U statistic over its maximum, ties counting half (Hanley and McNeil 1982). */
function aucOf(predicted: Float64Array, kept: Float64Array): number | null {
  const count = sumOf(kept);
  const recalled = new Float64Array(count);
  const forgotten = new Float64Array(kept.length - count);
  if (recalled.length === 0 || forgotten.length === 0) return null;
  let at = 0;
  for (let index = 0; index < kept.length; index += 1) {
    const prediction = predicted[index] ?? 0;
    if (kept[index] === 1) {
      recalled[at] = prediction;
      at += 1;
    } else forgotten[index - at] = prediction;
  }
  recalled.sort();
  forgotten.sort();
  let [below, upTo, sum] = [0, 0, 0];
  for (const prediction of recalled) {
    while (below < forgotten.length && (forgotten[below] ?? 0) < prediction) below += 1;
    while (upTo < forgotten.length && (forgotten[upTo] ?? 0) <= prediction) upTo += 1;
    sum += (below + upTo) / 2;
  }
  return sum / (recalled.length * forgotten.length);
}

const BINS = 20;

function binsOf(predicted: Float64Array, kept: Float64Array): CalibrationBin[] {
  const of = new Int32Array(predicted.length);
  for (let index = 0; index < of.length; index += 1) {
    of[index] = Math.min(BINS - 1, Math.floor((predicted[index] ?? 0) * BINS));
  }
  const bins = groupsOf(of, BINS);
  const recalled = sumsOf(bins, kept);
  const sums = sumsOf(bins, predicted);
  return [...bins.sizes].flatMap((count, bin) =>
    count === 0
      ? []
      : [{ reviews: count, recalled: recalled[bin] ?? 0, meanPrediction: (sums[bin] ?? 0) / count }],
  );
}

/** To which group each trial belongs, 0 up to `count`, and how many belong to each. */
type Groups = { of: Int32Array; count: number; sizes: Float64Array };

function groupsOf(of: Int32Array, count: number): Groups {
  const sizes = new Float64Array(count);
  for (const group of of) sizes[group] = (sizes[group] ?? 0) + 1;
  return { of, count, sizes };
}

/** The trials with the same key are a group. */
function groupedBy(keys: Float64Array): Groups {
  const numbers = new Map<number, number>();
  const of = new Int32Array(keys.length);
  for (let index = 0; index < keys.length; index += 1) {
    const key = keys[index] ?? 0;
    const number = numbers.get(key) ?? numbers.size;
    if (number === numbers.size) numbers.set(key, number);
    of[index] = number;
  }
  return groupsOf(of, numbers.size);
}

/** The sum of each group's values. */
function sumsOf({ of, count }: Groups, values: Float64Array): Float64Array {
  const sums = new Float64Array(count);
  for (let index = 0; index < of.length; index += 1) {
    const group = of[index] ?? 0;
    sums[group] = (sums[group] ?? 0) + (values[index] ?? 0);
  }
  return sums;
}

/** The differences of two columns. */
function subtract(values: Float64Array, others: Float64Array): Float64Array {
  const differences = new Float64Array(values.length);
  for (let index = 0; index < values.length; index += 1) {
    differences[index] = (values[index] ?? 0) - (others[index] ?? 0);
  }
  return differences;
}

/**
 * The indexes of the trials in the order of time. Sorts one number for each trial, made of its time and index, which
 * takes half as long as with a comparing function. To keep the numbers below 2^53, times are rounded if needed: for
 * 10,000 trials, beyond 28 years.
 */
function inOrder({ count, timeMs }: Trials): Uint32Array {
  let [firstMs, lastMs] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let trial = 0; trial < count; trial += 1) {
    const time = timeMs[trial] ?? 0;
    firstMs = Math.min(firstMs, time);
    lastMs = Math.max(lastMs, time);
  }
  const unitMs = Math.max(1, Math.ceil(((lastMs - firstMs + 1) * count) / Number.MAX_SAFE_INTEGER));
  const keys = new Float64Array(count);
  for (let trial = 0; trial < count; trial += 1) {
    keys[trial] = Math.floor(((timeMs[trial] ?? 0) - firstMs) / unitMs) * count + trial;
  }
  keys.sort();
  const order = new Uint32Array(count);
  for (let index = 0; index < count; index += 1) order[index] = (keys[index] ?? 0) % count;
  return order;
}

function picked(column: Float64Array | Int32Array | Uint8Array, trials: Uint32Array): Float64Array {
  const values = new Float64Array(trials.length);
  for (let index = 0; index < trials.length; index += 1) values[index] = column[trials[index] ?? 0] ?? 0;
  return values;
}

function sumOf(values: Float64Array): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
}

function meanOf(values: Float64Array): number {
  return sumOf(values) / values.length;
}
