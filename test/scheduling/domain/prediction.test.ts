// Scores predictors on learners whose memory is known, and on reviews that can be counted by hand.
import { describe, expect, test } from 'vitest';
import { DEFAULT_PARAMETERS } from '../../../services/scheduling/reviews/fsrs.ts';
import { INITIAL_SCHEDULE, type Quality, reviewSchedule } from '../../../services/scheduling/reviews/sm2.ts';
import {
  type GradedReview,
  type History,
  type Prediction,
  predict,
  predictInSteps,
  type Training,
} from '../../../services/scheduling/statistics/prediction.ts';
import { hasGrown, trainingSet } from '../../../services/scheduling/statistics/training.ts';
import { loadTrainer } from '../../../services/scheduling/trainer.ts';
import { dayOf, noon, recallsBy, recallsByChance, simulate } from './simulated-learner.ts';

const repeated = (count: number, of: History): History[] => Array.from({ length: count }, () => of);

describe('by reviews that can be counted', () => {
  test('a prediction that is kept has no error in bins, and tells no review from another', () => {
    const prediction = predict(asPredicted, UNTRAINED);
    expect([prediction.reviews, prediction.recallNow.materials]).toEqual([100, 100]);
    // -(0.9 ln 0.9 + 0.1 ln 0.1), and 1.96 standard errors on either side: 0.3 (ln 0.9 - ln 0.1) / √99.
    expect(scoreOf(prediction, 'sm2')).toEqual([0.325083, 0.195238, 0.454928, 0, 0.5]);
    expect(prediction.scores.find(({ predictor }) => predictor === 'sm2')?.bins).toEqual([
      { reviews: 100, recalled: 90, meanPrediction: expect.closeTo(0.9, 12) },
    ]);
  });

  test('FSRS says what recall was to be expected when SM-2 asked', () => {
    // (1 + 0.9803 / 2.3065)^-0.1542 with the default parameters.
    expect(rounded(predict(asPredicted, UNTRAINED).recallWhenSm2Asks)).toBe(0.946848);
  });

  test('the averages know only what came before', () => {
    const prediction = predict(repeated(100, history([4, 0], [4, 1])), UNTRAINED);
    // The mean of ln((n + 2) / (n + 1)) over n = 0 to 99 is ln(101) / 100.
    expect(scoreOf(prediction, 'average')[0]).toBe(0.046151);
    expect(prediction.scores.map(({ auc }) => auc)).toEqual([null, null, null, null]);
  });

  test.each([
    // 2.497 standard errors better, and 2.4995: a level of 98.75 % asks for 2.4977.
    [115, 11, false],
    [135, 12, true],
  ])(
    'of %i recalled after a day and %i forgotten after eleven, that SM-2 beats the average is %s',
    (recalled, forgotten, beats) => {
      const histories = [
        ...repeated(recalled, history([4, 0], [4, 1])),
        ...repeated(forgotten, history([4, 0], [0, 11])),
      ];
      const [sm2] = predict(histories, UNTRAINED).scores;
      expect([sm2?.predictor, sm2?.beatsAverage]).toEqual(['sm2', beats]);
    },
  );

  test('with a training, the averages know the reviews before it as well', () => {
    const [earlier, later] = [history([4, 0], [4, 1]), history([4, 10], [4, 11])];
    const training = { parameters: DEFAULT_PARAMETERS, trainTime: noon(5), reviews: 200 };
    const prediction = predict([...repeated(100, earlier), ...repeated(100, later)], {
      dayOf,
      today: 400,
      training,
    });
    expect(prediction.reviews).toBe(100);
    // The mean of ln((n + 2) / (n + 1)) over n = 100 to 199 is ln(201 / 101) / 100.
    expect(scoreOf(prediction, 'average')[0]).toBe(0.006882);
  });

  test('below 100 reviews nothing is said but what is known now', () => {
    const prediction = predict(asPredicted.slice(1), UNTRAINED);
    expect(prediction).toMatchObject({ reviews: 99, scores: [], best: null, recallNow: { materials: 99 } });
    expect(predict([], UNTRAINED)).toEqual({
      reviews: 0,
      scores: [],
      best: null,
      recallNow: { materials: 0, recalled: 0 },
      recallWhenSm2Asks: null,
    });
  });

  test.each([
    ['a first review', history([4, 0])],
    ['a second one of a day', history([4, 0], [4, 0], [0, 0])],
    ['one of a clock that was set back', history([4, 5], [4, 3])],
  ])('%s is not scored', (_, of) => {
    expect(predict([of], UNTRAINED).reviews).toBe(0);
  });

  test('of a day with several reviews the first is scored, and SM-2 asks after the last', () => {
    // The third review of SM-2 leaves 6 days at the second of day 1.
    const of = history([4, 0], [4, 1], [0, 1], [4, 2]);
    const { scores } = predict(repeated(50, of), UNTRAINED);
    expect(scores[0]?.bins).toEqual([
      { reviews: 100, recalled: 100, meanPrediction: expect.closeTo(0.9, 12) },
    ]);
  });

  test('10,000 reviews are scored in steps, between which others have their turn, and as at once', () => {
    const of = repeated(2500, history([4, 0], [4, 1], [0, 7], [4, 8]));
    const steps = predictInSteps(of, UNTRAINED);
    let count = 0;
    let step = steps.next();
    for (; !step.done; step = steps.next()) count += 1;
    // One for some 100 reviews each, two for their order, and the scores part by part.
    expect(count).toBe(121);
    expect(step.value).toEqual(predict(of, UNTRAINED));
  });

  test('archived materials are scored, but not counted as known', () => {
    const archived = asPredicted.map((each) => ({ ...each, isArchived: true }));
    expect(predict(archived, UNTRAINED)).toMatchObject({ reviews: 100, recallNow: { materials: 0 } });
  });

  /** A day after a first review of "good", SM-2 predicts 90 %: 90 of 100 materials are recalled. */
  const asPredicted = [...repeated(90, history([4, 0], [4, 1])), ...repeated(10, history([4, 0], [0, 1]))];
});

const trainer = loadTrainer();

describe('by learners whose memory is known', () => {
  const seeds = [1, 2, 3, 4, 5];
  /** Forgets three times as fast as most. */
  const OWN = DEFAULT_PARAMETERS.map((value, index) => (index < 4 ? value * 0.3 : index === 8 ? 1.2 : value));
  const untrained = (parameters = DEFAULT_PARAMETERS, recall = recallsBy(parameters)) =>
    seeds.map((seed) =>
      predict(simulate({ parameters, recall }, { seed, materials: 150, endDay: 400 }), UNTRAINED),
    );

  test('FSRS with defaults is best where memory follows them', () => {
    expect(untrained().map(({ best }) => best)).toEqual(['fsrs', 'fsrs', 'fsrs', 'fsrs', 'fsrs']);
  });

  test.skipIf(trainer === undefined)(
    'FSRS trained on the older half is best where memory follows parameters of the learner’s own, and is scored on the newer',
    async () => {
      for (const seed of seeds) {
        const histories = simulate(
          { parameters: OWN, recall: recallsBy(OWN) },
          { seed, materials: 300, endDay: 400 },
        );
        const training = await trained(histories);
        const prediction = predict(histories, { dayOf, today: 400, training });
        const after = histories
          .flatMap(({ reviews }) => reviews.slice(1))
          .filter(([, timeMs]) => timeMs > training.trainTime.getTime());
        expect([prediction.best, prediction.reviews]).toEqual(['fsrsTrained', after.length]);
        expect(prediction.scores.map(({ predictor }) => predictor)).toHaveLength(5);
      }
    },
  );

  test('a training that fewer than 100 reviews follow is not scored, and the others are scored on all', () => {
    const histories = simulate(
      { parameters: OWN, recall: recallsBy(OWN) },
      { seed: 1, materials: 300, endDay: 400 },
    );
    const training = { parameters: OWN, trainTime: noon(397), reviews: 1000 };
    const { reviews, scores } = predict(histories, { dayOf, today: 400, training });
    const { reviews: all } = predict(histories, UNTRAINED);
    expect([reviews, scores.map(({ predictor }) => predictor)]).toEqual([
      all,
      ['sm2', 'average', 'movingAverage', 'fsrs'],
    ]);
  });

  test.skipIf(trainer === undefined)(
    'nothing beats the average where recall is pure chance, be FSRS trained on it',
    async () => {
      for (const seed of seeds) {
        const learner = { parameters: DEFAULT_PARAMETERS, recall: recallsByChance(0.8) };
        const histories = simulate(learner, { seed, materials: 150, endDay: 400 });
        const training = await trained(histories);
        const prediction = predict(histories, { dayOf, today: 400, training });
        expect([prediction.best, prediction.scores.length]).toEqual([null, 5]);
        expect(predict(histories, UNTRAINED).best).toBe(null);
      }
    },
  );
});

describe('what is trained on', () => {
  /** A material a day, reviewed on two days. */
  const reviewed = (materials: number) =>
    Array.from({ length: materials }, (_, first) => history([4, first], [0, first + 1]));

  test('is the older half of the reviews, and 400 at least', () => {
    const of = (materials: number) => trainingSet(reviewed(materials), dayOf)?.reviews;
    // Two of a day, but for the first and the last.
    expect([of(199), of(200), of(300), of(500), of(501)]).toEqual([undefined, 400, 401, 501, 501]);
  });

  test('is of a day the first review, by its rating and the days since the one before', () => {
    const filler = Array.from({ length: 400 }, () => history([5, 100]));
    const set = trainingSet([history([4, 0], [1, 0], [2, 7], [3, 9], [5, 200]), ...filler], dayOf);
    expect(set?.materials[0]).toEqual([
      [3, 0],
      [1, 7],
      [2, 2],
    ]);
    expect([set?.trainTime, set?.reviews]).toEqual([noon(100), 404]);
  });

  test('is trained on again with 15 % more reviews', () => {
    expect([hasGrown(0, null), hasGrown(1149, 1000), hasGrown(1150, 1000)]).toEqual([true, false, true]);
  });
});

const UNTRAINED = { dayOf, today: 400, training: null };

/** Grades on days since 1970, scheduled by SM-2. */
function history(...grades: (readonly [Quality, number])[]): History {
  let schedule = INITIAL_SCHEDULE;
  const reviews = grades.map(([quality, day]): GradedReview => {
    const { easeFactorHundredths, intervalDays, repetitions } = schedule;
    const timeMs = noon(day).getTime();
    schedule = reviewSchedule(schedule, quality);
    return [quality, timeMs, easeFactorHundredths, intervalDays, repetitions];
  });
  return { isArchived: false, reviews };
}

async function trained(histories: readonly History[]): Promise<Training> {
  const set = trainingSet(histories, dayOf);
  if (trainer === undefined || set === null) throw new Error('not trained');
  return { parameters: await trainer(set.materials), trainTime: set.trainTime, reviews: set.reviews };
}

const rounded = (value: number | null) => value && Math.round(value * 1e6) / 1e6;
const scoreOf = ({ scores }: Prediction, name: string) => {
  const score = scores.find(({ predictor }) => predictor === name);
  if (score === undefined) throw new Error(`no score of ${name}`);
  const { predictor: _, bins: _1, beatsAverage: _2, ...figures } = score;
  return Object.values(figures).map(rounded);
};
