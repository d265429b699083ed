// How well a learner’s recall is predicted: what would be known today, predicted against kept, and the predictors side by side.
/** @import { ConfigOf } from '../charts/charts.js' */
/** @import { Prediction, Predictor, PredictorScore } from '../types.d.ts' */
import { chart, options, told } from '../charts/charts.js';
import { figure } from '../charts/figure.js';
import { h } from '../dom.js';
import { counted, longDay, percent, whole } from '../format.js';
import { card, empty, muted, table } from '../ui.js';

/** @type {Readonly<Record<Predictor, string>>} */
export const NAMES = {
  SM2: 'SM-2',
  AVERAGE: 'Always the average',
  MOVING_AVERAGE: 'Average of late',
  FSRS: 'FSRS',
  FSRS_TRAINED: 'FSRS, trained on this learner',
};

/** Two cards: the recall of today in words with the comparison, and the calibration. @param {Prediction} prediction */
export function predictionCards(prediction) {
  return [words(prediction), calibration(prediction)];
}

/** @param {Prediction} prediction */
function words(prediction) {
  const { recallNow, recallWhenSm2Asks } = prediction;
  if (recallNow.materials === 0)
    return card('Memory', empty('Nothing was reviewed yet, so there is nothing to remember.'));
  const known = Math.round(recallNow.recalled);
  return card(
    'Memory',
    h(
      'p',
      {},
      h('span', { class: 'strong' }, `About ${whole(known)} of ${counted(recallNow.materials, 'material')}`),
      ` would be known today (${percent(recallNow.recalled / recallNow.materials)}), by the estimate of FSRS.`,
    ),
    recallWhenSm2Asks !== null &&
      h(
        'p',
        {},
        `SM-2 asks when the learner would know ${percent(recallWhenSm2Asks)}, by the same estimate.`,
      ),
    h('p', { class: 'strong' }, verdict(prediction)),
    comparison(prediction),
  );
}

/** @param {Prediction} prediction */
function verdict({ reviews, scores, best }) {
  if (scores.length === 0)
    return `Too few reviews to say what predicts best: ${whole(reviews)} of the 100 that it takes.`;
  if (best === null)
    return 'No scheduler predicts this learner’s recall better than the plain average does, beyond chance.';
  return `${NAMES[best]} comes closest to what was recalled, and beats the plain average beyond chance.`;
}

const COLUMNS = ['Predictor', 'Error', 'Off by', 'Tells apart', 'Beats the average'];

/** @param {Prediction} prediction */
function comparison(prediction) {
  const { reviews, scores } = prediction;
  if (scores.length === 0) return null;
  const rows = [...scores]
    .sort((a, b) => a.logLoss - b.logLoss)
    .map((score) => [
      NAMES[score.predictor],
      `${score.logLoss.toFixed(3)}\u00a0±\u00a0${(score.logLossHigh - score.logLoss).toFixed(3)}`,
      percent(score.rmseBins),
      score.auc === null ? '–' : percent(score.auc),
      score.predictor === 'AVERAGE' ? '–' : score.beatsAverage ? 'yes' : 'no',
    ]);
  return [
    table('Predictors', COLUMNS, rows, 'stacks'),
    muted(
      `The best is first, measured on ${counted(reviews, 'review')}. Error: log loss, lower is better, with its 95 % confidence interval. `,
      'Off by: predicted against kept, over groups of reviews alike. Tells apart: how often a kept review was given more than a forgotten ',
      'one; 50 % is blind. ',
      training(prediction),
    ),
  ];
}

/** @param {Prediction} prediction */
function training({ scores, trainedAt, trainedReviews }) {
  if (trainedAt === null)
    return 'FSRS has its defaults: it was not trained on this learner. That takes 400 reviews, a night, and the optional trainer.';
  const on = `FSRS was trained on the ${counted(trainedReviews, 'review')} up to ${longDay(trainedAt.slice(0, 10))}`;
  return scores.some(({ predictor }) => predictor === 'FSRS_TRAINED')
    ? `${on}, and all are measured on later ones.`
    : `${on}. It is compared with the others once 100 have followed.`;
}

/** @param {Prediction} prediction */
function calibration({ scores, reviews }) {
  const drawn = scores.filter(({ predictor }) => predictor === 'SM2' || predictor.startsWith('FSRS'));
  return figure({
    title: 'Predicted and kept',
    note: 'Each dot: reviews that were given the same chance. On the line, as many were kept as predicted; below it, fewer. A larger dot: more reviews',
    columns: ['Predictor', 'Predicted', 'Kept', 'Reviews'],
    rows: drawn.flatMap(({ predictor, bins }) =>
      bins.map(({ meanPrediction, recalled, reviews }) => [
        NAMES[predictor],
        percent(meanPrediction),
        percent(recalled / reviews),
        reviews,
      ]),
    ),
    drawing: () => chart('Predicted and kept', dots(drawn, reviews)),
    legend: h(
      'div',
      { class: 'legend' },
      drawn.map(({ predictor }) => [
        h('span', { class: `dot dot-${predictor.toLowerCase()}` }),
        NAMES[predictor],
      ]),
    ),
    nothing: scores.length === 0 && 'Too few reviews to say.',
  });
}

/** @type {Readonly<Partial<Record<Predictor, string>>>} */
const COLORS = { SM2: 'grade-1', FSRS: 'accent', FSRS_TRAINED: 'grade-4' };
const [LEAST_PX, MOST_PX] = [3, 22];
/** Below, hardly anything is predicted. */
const LEAST = 40;

/** @param {readonly PredictorScore[]} scores @param {number} reviews Of each. @returns {ConfigOf} */
function dots(scores, reviews) {
  const all = scores.map(({ predictor, bins }) =>
    bins.map((bin) => ({
      x: bin.meanPrediction * 100,
      y: (bin.recalled / bin.reviews) * 100,
      r: LEAST_PX + (MOST_PX - LEAST_PX) * Math.sqrt(bin.reviews / reviews),
      title: NAMES[predictor],
      text: `${percent(bin.meanPrediction)} predicted, ${percent(bin.recalled / bin.reviews)} kept of ${counted(bin.reviews, 'review')}`,
    })),
  );
  const least = Math.min(LEAST, ...all.flat().map(({ x, y }) => Math.floor(Math.min(x, y) / 10) * 10));
  return (color) => {
    const common = options('% kept', () => told(undefined));
    const axis = { min: least, max: 100 };
    return {
      type: 'bubble',
      data: {
        datasets: [
          ...scores.map(({ predictor }, index) => ({
            data: all[index],
            backgroundColor: `color-mix(in srgb, ${color(COLORS[predictor] ?? 'accent')} 55%, transparent)`,
            borderColor: color(COLORS[predictor] ?? 'accent'),
            clip: false,
          })),
          {
            type: 'line',
            data: [
              { x: least, y: least },
              { x: 100, y: 100 },
            ],
            borderColor: color('line-strong'),
            borderDash: [4, 4],
            borderWidth: 1.5,
            pointRadius: 0,
            pointHitRadius: 0,
          },
        ],
      },
      options: {
        ...common,
        interaction: { mode: 'nearest', intersect: true },
        plugins: {
          ...common.plugins,
          tooltip: {
            displayColors: false,
            callbacks: {
              title: (/** @type {{ raw: { title: string } }[]} */ [item]) => item?.raw.title ?? '',
              label: (/** @type {{ raw: { text: string } }} */ { raw }) => raw.text,
            },
          },
        },
        scales: {
          x: { ...common.scales.x, ...axis, type: 'linear', title: { display: true, text: '% predicted' } },
          y: { ...common.scales.y, ...axis },
        },
      },
    };
  };
}
