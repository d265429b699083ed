// The calibration of predictors: predicted against actual recall, a mark for each group of reviews.
/** @import { Predictor, PredictorScore } from '../types.d.ts' */
/** @import { ConfigOf } from './charts.js' */
import { h, svg } from '../dom.js';
import { counted, percent } from '../format.js';
import { options } from './charts.js';

/**
 * By shape as well as colour. `scale`: what gives the shape the area of a circle of the same radius.
 * @typedef {{ color: string, shape: string, scale: number }} Mark
 * @type {Readonly<Partial<Record<Predictor, Mark>>>}
 */
const MARKS = {
  SM2: { color: 'grade-1', shape: 'circle', scale: 1 },
  FSRS: { color: 'accent', shape: 'rectRot', scale: Math.sqrt(Math.PI / 2) },
  FSRS_TRAINED: { color: 'grade-4', shape: 'triangle', scale: Math.sqrt((Math.PI * 4) / (3 * Math.sqrt(3))) },
};
/** Averages are not drawn. @param {Predictor} predictor */
const markOf = (predictor) => /** @type {Mark} */ (MARKS[predictor]);
const [LEAST_PX, MOST_PX] = [3, 20];
/** In percent. Below, hardly anything is predicted. */
const LEAST = 40;

/** Of a circle. @param {number} count @param {number} all */
const radiusOf = (count, all) => LEAST_PX + (MOST_PX - LEAST_PX) * Math.sqrt(count / all);

/** @param {readonly PredictorScore[]} scores @param {number} reviews Of each. @param {Readonly<Record<Predictor, string>>} names @returns {ConfigOf} */
export function calibrationPlot(scores, reviews, names) {
  const all = scores.map(({ predictor, bins }) =>
    bins.map((bin) => ({
      x: bin.meanPrediction * 100,
      y: (bin.recalled / bin.reviews) * 100,
      r: radiusOf(bin.reviews, reviews) * markOf(predictor).scale,
      title: names[predictor],
      text: `${percent(bin.meanPrediction)} predicted, ${percent(bin.recalled / bin.reviews)} remembered of ${counted(bin.reviews, 'review')}`,
    })),
  );
  const least = Math.min(LEAST, ...all.flat().map(({ x, y }) => Math.floor(Math.min(x, y) / 10) * 10));
  return (color) => {
    const common = options('', []);
    // Where the axis begins, its title says: on a phone, a tick there would touch the next one.
    const axis = (/** @type {string} */ text) => ({
      min: least,
      max: 100,
      title: { display: true, text: least === 0 ? text : `${text} (axis starts at ${least}\u00a0%)` },
      ticks: {
        ...common.scales.x.ticks,
        includeBounds: false,
        callback: (/** @type {number | string} */ value) => `${value}\u00a0%`,
      },
    });
    return {
      type: 'bubble',
      data: {
        datasets: [
          ...scores.map(({ predictor }, index) => {
            const { color: name, shape } = markOf(predictor);
            return {
              data: all[index],
              pointStyle: shape,
              backgroundColor: `color-mix(in srgb, ${color(name)} 25%, transparent)`,
              borderColor: color(name),
              borderWidth: 2,
              clip: false,
            };
          }),
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
          x: { ...common.scales.x, ...axis('Predicted chance'), type: 'linear' },
          y: { ...common.scales.y, ...axis('Actually remembered') },
        },
      },
    };
  };
}

/** The mark of a predictor, for the legend. @param {Predictor} predictor */
export function markSign(predictor) {
  const { color, shape } = markOf(predictor);
  const points = shape === 'triangle' ? '8,2 14,13 2,13' : '8,1.5 14.5,8 8,14.5 1.5,8';
  return svg(
    'svg',
    { class: 'mark', color: `var(--${color})`, width: 16, height: 16 },
    shape === 'circle' ? svg('circle', { cx: 8, cy: 8, r: 6 }) : svg('polygon', { points }),
  );
}

/** Which size of a mark is how many reviews. @param {readonly PredictorScore[]} scores @param {number} reviews */
export function reviewsKey(scores, reviews) {
  const most = Math.max(...scores.flatMap(({ bins }) => bins.map((bin) => bin.reviews)));
  const power = 10 ** Math.floor(Math.log10(most));
  const largest = Math.floor(most / power) * power;
  const counts = [largest / 100, largest / 10, largest].filter((count) => count >= 1).map(Math.round);
  return h(
    'p',
    { class: 'legend muted' },
    'Area of a mark:',
    counts.map((count) => {
      const radius = radiusOf(count, reviews);
      const size = 2 * radius + 2;
      return h(
        'span',
        { class: 'key' },
        svg(
          'svg',
          { width: size, height: size, 'aria-hidden': 'true' },
          svg('circle', { class: 'size', cx: size / 2, cy: size / 2, r: radius }),
        ),
        counted(count, 'review'),
      );
    }),
  );
}
