// The interval after each review of a material, in steps on a logarithmic axis.
/** @import { ConfigOf } from './charts.js' */
import { h } from '../dom.js';
import { DAY_MS } from '../format.js';
import { options } from './charts.js';
import { legend } from './figure.js';

const MAX_STEPS = 6;

/** Sets ticks that are a day apart or more, instead of round numbers of milliseconds. @param {import('chart.js').Scale} axis */
function setEvenTicks(axis) {
  const { min, max } = axis;
  const steps = Math.min(MAX_STEPS, Math.max(1, Math.floor((max - min) / DAY_MS)));
  axis.ticks = Array.from({ length: steps + 1 }, (_, index) => ({
    value: min + (index * (max - min)) / steps,
  }));
}

/** Sets ticks on intervals that people know. @param {import('chart.js').Scale} axis */
function setPlainTicks(axis) {
  axis.ticks = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000]
    .filter((value) => value <= axis.max)
    .map((value) => ({ value }));
}

/**
 * Steps through points in time on a logarithmic axis of at least 1. Failed reviews are triangles, so that colour is not the only sign.
 * @param {readonly { timeMs: number, quality: number, intervalDays: number, title: string, text: string }[]} data
 * @param {(timeMs: number) => string} dayOf
 * @returns {ConfigOf}
 */
export function history(data, dayOf) {
  return (color) => {
    const common = options('days', data);
    const colors = data.map(({ quality }) => color(`grade-${quality}`));
    const times = data.map(({ timeMs }) => timeMs);
    const [first = 0, last = 0] = [Math.min(...times), Math.max(...times)];
    const margin = Math.max((last - first) * 0.03, DAY_MS / 2);
    const range = { min: first - margin, max: last + margin };
    const ticks = {
      ...common.scales.x.ticks,
      callback: (/** @type {number | string} */ value) => dayOf(Number(value)),
    };
    return {
      type: 'line',
      data: {
        datasets: [
          {
            // An imported interval can be shorter than a day: 0 has no place on a logarithmic axis.
            data: data.map(({ timeMs, intervalDays }) => ({ x: timeMs, y: Math.max(1, intervalDays) })),
            borderColor: color('line-strong'),
            borderWidth: 1.5,
            // An interval lasts until the next review.
            stepped: true,
            pointBackgroundColor: colors,
            pointBorderColor: colors,
            pointStyle: data.map(({ quality }) => (quality < 3 ? 'triangle' : 'circle')),
            pointRadius: 6,
            pointHoverRadius: 8,
            clip: false,
          },
        ],
      },
      options: {
        ...common,
        interaction: { mode: 'nearest', intersect: false },
        scales: {
          ...common.scales,
          x: { ...common.scales.x, ...range, type: 'linear', ticks, afterBuildTicks: setEvenTicks },
          y: {
            ...common.scales.y,
            beginAtZero: false,
            type: 'logarithmic',
            min: 1,
            afterBuildTicks: setPlainTicks,
          },
        },
      },
    };
  };
}

/** What shape and colour mean. @param {readonly number[]} qualities The grades that occur. */
export function historyLegend(qualities) {
  const grades = [...new Set(qualities)].toSorted();
  return legend(
    grades.map((quality) => [
      h('span', { class: `sign sign-${quality < 3 ? 'failed' : 'recalled'} grade-${quality}` }),
      `graded ${quality}${quality < 3 ? ', failed' : ''}`,
    ]),
  );
}
