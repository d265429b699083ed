// How well a learner’s recall is predicted: what would be remembered today, how far to trust that, and the predictors side by side.
/** @import { Prediction, Predictor, PredictorScore, User } from '../types.d.ts' */
import { calibrationPlot, markSign, reviewsKey } from '../charts/calibration.js';
import { chart } from '../charts/charts.js';
import { figure, legend } from '../charts/figure.js';
import { h, paragraphs } from '../dom.js';
import { counted, longDayOf, percent, whole } from '../format.js';
import { card, empty, facts, muted, table } from '../ui.js';

/** @type {Readonly<Record<Predictor, string>>} */
export const NAMES = {
  SM2: 'SM-2',
  AVERAGE: 'The learner’s average',
  MOVING_AVERAGE: 'Recent average',
  FSRS: 'FSRS',
  FSRS_TRAINED: 'FSRS, trained on this learner',
};

/** What training needs, at least. */
const REVIEWS_TO_TRAIN = 400;
const REVIEWS_TO_SCORE = 100;

/** Two cards: the recall of today with the comparison, and the calibration. @param {Prediction} prediction @param {User} user */
export function predictionCards(prediction, user) {
  return [recallToday(prediction, user), calibration(prediction)];
}

/** @param {Prediction} prediction @param {User} user */
function recallToday(prediction, user) {
  const { recallNow, recallWhenSm2Asks, trainedAt } = prediction;
  if (recallNow.materials === 0)
    return card('Recall today', empty('No active material was reviewed, so there is nothing to remember.'));
  const recalled = Math.round(recallNow.recalled);
  const source =
    trainedAt === null ? 'with settings that fit learners on average' : 'trained on this learner';
  const section = card(
    'Recall today',
    h(
      'p',
      {},
      h(
        'span',
        { class: 'strong' },
        `About ${whole(recalled)} of ${counted(recallNow.materials, 'material')}`,
      ),
      ` (${percent(recalled / recallNow.materials)}) would be remembered if the learner were asked today all that they have studied, also what is not due yet. This is an estimate by FSRS, a model of memory, ${source}.${whyFsrs(prediction)}`,
    ),
    h(
      'p',
      {},
      h('span', { class: 'strong' }, 'How far to trust it: '),
      trust(prediction),
      ' ',
      trainingState(prediction, user),
    ),
    recallWhenSm2Asks !== null &&
      `With SM-2, a review comes when the chance of remembering has fallen to ${percent(recallWhenSm2Asks)} on average, by FSRS’s estimate.`,
    h('h3', {}, 'Which predictor comes closest to what the learner remembered?'),
    verdict(prediction),
    comparison(prediction),
  );
  section.classList.add('wide');
  return section;
}

/** Why FSRS makes the estimate where another predictor has come closer. @param {Prediction} prediction */
function whyFsrs(prediction) {
  const [closest] = ranked(prediction.scores);
  if (closest === undefined || closest.predictor.startsWith('FSRS')) return '';
  return ` ${NAMES[closest.predictor]} came closer in past reviews, but FSRS makes this estimate for every learner, so that learners can be compared.`;
}

/** The share of the scored reviews that were remembered: each predictor’s groups have them all. @param {Prediction} prediction */
function averageOf({ scores: [score], reviews }) {
  return (score?.bins.reduce((sum, { recalled }) => sum + recalled, 0) ?? 0) / reviews;
}

/** What the others are compared with. @param {Prediction} prediction */
const guess = (prediction) => `always guessing the learner’s average of ${percent(averageOf(prediction))}`;

/** The best is first. @param {readonly PredictorScore[]} scores */
const ranked = (scores) => [...scores].sort((a, b) => a.logLoss - b.logLoss);

/** How well the source of the estimate has done for this learner. @param {Prediction} prediction */
function trust(prediction) {
  const { scores, trainedAt, reviews } = prediction;
  if (scores.length === 0)
    return `this cannot be checked yet. Of the ${REVIEWS_TO_SCORE} reviews that a check needs, there are ${whole(reviews)}.`;
  const source = trainedAt === null ? 'FSRS' : 'FSRS_TRAINED';
  const score = scores.find(({ predictor }) => predictor === source);
  if (score === undefined)
    return `this can be checked once ${REVIEWS_TO_SCORE} reviews have followed its training.`;
  const name = NAMES[source];
  const guessed = `a guess of ${percent(averageOf(prediction))} each time, the share that was remembered`;
  const checked = `in ${counted(reviews, 'past review')}`;
  if (score.beatsAverage)
    return `${checked}, ${name} predicted reliably better than ${guessed}.${sideOf(score)}`;
  const average = scores.find(({ predictor }) => predictor === 'AVERAGE');
  return average !== undefined && average.logLoss < score.logLoss
    ? `it is a rough figure: ${checked}, ${guessed}, was better than ${name}.${sideOf(score)}`
    : `it is a rough figure: ${checked}, ${name} predicted better than ${guessed}, but that may be luck.${sideOf(score)}`;
}

/** In whole percent: what was predicted on average, and what was remembered. @param {PredictorScore} score */
function meansOf({ bins }) {
  const reviews = bins.reduce((sum, bin) => sum + bin.reviews, 0);
  const predicted = bins.reduce((sum, bin) => sum + bin.meanPrediction * bin.reviews, 0);
  const recalled = bins.reduce((sum, bin) => sum + bin.recalled, 0);
  return {
    predicted: Math.round((predicted / reviews) * 100),
    recalled: Math.round((recalled / reviews) * 100),
  };
}

/** A sentence on which side the predictions were on average; none within a point. @param {PredictorScore} score */
function sideOf(score) {
  const { predicted, recalled } = meansOf(score);
  if (Math.abs(predicted - recalled) <= 1) return '';
  const side = predicted > recalled ? 'high' : 'low';
  return ` ${NAMES[score.predictor]} predicted ${predicted}\u00a0% on average, but ${recalled}\u00a0% were remembered, so today’s figure is probably too ${side}.`;
}

/** @param {Prediction} prediction */
function verdict(prediction) {
  const { reviews, scores, best } = prediction;
  if (scores.length === 0)
    return `Too few reviews to say: ${whole(reviews)} of the ${REVIEWS_TO_SCORE} that it takes.`;
  const [closest] = ranked(prediction.scores);
  if (closest === undefined || closest.predictor === 'AVERAGE')
    return `The learner’s average (${percent(averageOf(prediction))}) came closest. No other predictor told more than this share alone.`;
  const name = NAMES[closest.predictor];
  if (best === null)
    return `${name} came closest, but the difference from the learner’s average of ${percent(averageOf(prediction))} may be luck.`;
  if (best === closest.predictor) return `${name} came closest, reliably closer than ${guess(prediction)}.`;
  return `${name} came closest, but not reliably. ${NAMES[best]} was reliably closer than ${guess(prediction)}.`;
}

const COLUMNS = ['Predictor', 'Log loss', 'Calibration error', 'AUC', 'Reliably better than the average?'];

/** Each column: what it measures, which direction is better, and what is good. @type {readonly (readonly [string, string])[]} */
const MEANINGS = [
  [
    'Log loss',
    'How wrong the predictions were in all. Lower is better, 0 is perfect; a good value is clearly below that of the average. With 95 % confidence, the true value is within ±.',
  ],
  [
    'Calibration error',
    'How far the predicted share was from the remembered one in groups of similar reviews, in percentage points. Lower is better; 5 or less is good (RMSE in bins).',
  ],
  [
    'AUC',
    'How often a review that was remembered had got a higher prediction than one that was forgotten. Higher is better: 50 % is guessing, 70 % is good, 100 % perfect. The two averages have none, since they give all materials nearly the same chance.',
  ],
  [
    'Reliably better than the average?',
    'Yes if its log loss is lower than the average’s by more than luck explains, with 95 % confidence.',
  ],
];

/** @param {Prediction} prediction */
function comparison(prediction) {
  const { reviews, scores } = prediction;
  if (scores.length === 0) return null;
  const rows = ranked(prediction.scores).map((score) => [
    score.predictor === 'AVERAGE'
      ? `${NAMES.AVERAGE} (${percent(averageOf(prediction))})`
      : NAMES[score.predictor],
    `${score.logLoss.toFixed(3)}\u00a0±\u00a0${(score.logLossHigh - score.logLoss).toFixed(3)}`,
    `${(score.rmseBins * 100).toFixed(0)}\u00a0points`,
    score.predictor.endsWith('AVERAGE')
      ? '– (same guess for all)'
      : score.auc === null
        ? '–'
        : percent(score.auc),
    score.predictor === 'AVERAGE' ? '–' : score.beatsAverage ? 'yes' : 'no',
  ]);
  return h(
    'details',
    { class: 'stack' },
    h('summary', {}, 'How this was checked (for specialists)'),
    table('Predictors', COLUMNS, rows, 'stacks'),
    muted(
      `A predictor estimates, before each review, the chance that the learner remembers the material. The best is first. All were checked on the same ${counted(reviews, 'review')}. “Recent average” is an average of all reviews so far in which the latest ones count most.`,
    ),
    facts(MEANINGS),
  );
}

/** Whether FSRS was trained on this learner, and if not, why. @param {Prediction} prediction @param {User} user */
function trainingState({ scores, trainedAt, trainedReviews, reviews, recallNow }, { sandbox, timeZone }) {
  if (trainedAt !== null) {
    const on = `FSRS was trained on the ${counted(trainedReviews, 'review')} up to ${longDayOf(trainedAt, timeZone)}`;
    return scores.some(({ predictor }) => predictor === 'FSRS_TRAINED')
      ? `${on}. All predictors are checked on later reviews.`
      : `${on}. It is compared with the others once ${REVIEWS_TO_SCORE} reviews have followed.`;
  }
  const untrained = 'FSRS is not trained on this learner';
  if (sandbox) return `${untrained}: learners of the sandbox are not trained. No action is needed.`;
  // The first review of a material is not scored, but FSRS is trained on it as well.
  const known = reviews + recallNow.materials;
  if (known < REVIEWS_TO_TRAIN)
    return `${untrained}: training takes ${REVIEWS_TO_TRAIN} reviews, and so far about ${whole(known)} count. It trains by itself once there are enough. No action is needed.`;
  return `${untrained}. There are enough reviews, so it trains by itself on a coming night. If it stays untrained, the server lacks the trainer, an optional package: ask whoever runs the server to install it.`;
}

/** @param {Prediction} prediction */
function calibration({ scores, reviews }) {
  const drawn = scores.filter(({ predictor }) => predictor === 'SM2' || predictor.startsWith('FSRS'));
  const title = 'Predicted and actual recall';
  if (drawn.length === 0) return card(title, empty('Too few reviews to say.'));
  return figure({
    title,
    note: `How well ${drawn.length > 2 ? 'SM-2 and both forms of FSRS' : 'SM-2 and FSRS'} predicted whether this learner would remember, in past reviews. Each mark is a group of reviews for which about the same chance of remembering was predicted. ${conclusion(drawn, reviews)}`,
    isWide: true,
    isLegendBeside: true,
    columns: ['Predictor', 'Predicted', 'Remembered', 'Reviews'],
    rows: drawn.flatMap(({ predictor, bins }) =>
      bins.map(({ meanPrediction, recalled, reviews }) => [
        NAMES[predictor],
        percent(meanPrediction),
        percent(recalled / reviews),
        reviews,
      ]),
    ),
    drawing: () => chart(title, calibrationPlot(drawn, reviews, NAMES)),
    legend: h(
      'div',
      { class: 'stack' },
      paragraphs([
        legend(drawn.map(({ predictor }) => [markSign(predictor), NAMES[predictor]])),
        legend([[h('span', { class: 'dashes' }), 'Perfect prediction: remembered as often as predicted']]),
        'What a mark above the line stands for was remembered more often than predicted; below it, less often.',
        h('p', {}, example(drawn)),
        '“The learner’s average” and “Recent average” are not drawn, since they give all materials nearly the same chance.',
        'Small marks stand for few reviews, so luck moves them a lot.',
        reviewsKey(drawn, reviews),
      ]),
    ),
  });
}

/** The largest mark in words. @param {readonly PredictorScore[]} scores */
function example([score]) {
  const [largest] = [...(score?.bins ?? [])].sort((a, b) => b.reviews - a.reviews);
  if (score === undefined || largest === undefined) return null;
  const { reviews, recalled, meanPrediction } = largest;
  return [
    h('span', { class: 'strong' }, 'Example: '),
    `The largest mark of ${NAMES[score.predictor]} stands for ${counted(reviews, 'review')}. ${NAMES[score.predictor]} gave each of them a chance of about ${percent(meanPrediction)}; ${percent(recalled / reviews)} were remembered.`,
  ];
}

/** What was remembered, and what each predictor had predicted. @param {readonly PredictorScore[]} scores @param {number} reviews */
function conclusion(scores, reviews) {
  const [first] = scores;
  const [closest] = ranked(scores);
  if (first === undefined || closest === undefined) return '';
  const predictions = scores.map(
    (score, index) =>
      `${NAMES[score.predictor]} ${index === 0 ? 'had predicted ' : ''}${meansOf(score).predicted}\u00a0%`,
  );
  return `Of ${counted(reviews, 'review')}, ${meansOf(first).recalled}\u00a0% were remembered. On average ${predictions.join(', ')}. A good predictor is right on average, and gives lower chances to what is then forgotten. Of the predictors drawn here, ${NAMES[closest.predictor]} did this best.`;
}
