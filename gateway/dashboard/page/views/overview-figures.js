// The six charts of a learner's overview.
/** @import { Count, Overview } from '../types.d.ts' */
import { bars, barsWithSum, chart, line } from '../charts/charts.js';
import { figure } from '../charts/figure.js';
import { heatLegend, heatMap } from '../charts/heat-map.js';
import { halves, spansOf } from '../charts/periods.js';
import { bandName, counted, day, longDay, percent, shortBandName, whole } from '../format.js';

/** @param {Overview} user */
export function forecast({ window: { forecast } }) {
  const { overdue, days } = forecast;
  let sum = overdue;
  const data = days.map(({ date, count }, index) => {
    sum += count;
    const text = `${counted(count, 'material')}; ${whole(sum)} in all, the overdue ones included`;
    return { label: index === 0 ? 'Today' : day(date), title: longDay(date), value: count, sum, text };
  });
  return figure({
    title: 'Forecast',
    note: `Bars: materials that become due on each of the next ${counted(days.length, 'day')}. Line: all until then, with those overdue`,
    columns: ['Day', 'Materials due', 'In all'],
    rows: [
      ['Overdue', overdue, overdue],
      ...data.map(({ value, sum: all }, index) => [days[index]?.date ?? '', value, all]),
    ],
    isWide: true,
    drawing: () => chart('Forecast', barsWithSum(data, 'materials')),
    nothing: sum === 0 && `Nothing becomes due in the next ${counted(days.length, 'day')}.`,
  });
}

/** @param {Overview} user */
export function calendar({ id, year: { activity } }) {
  const hrefOf = (/** @type {string} */ date) => `#/users/${id}/days/${date}`;
  const { days } = activity;
  const total = days.reduce((sum, { count }) => sum + count, 0);
  return figure({
    title: 'Year',
    note: `${counted(total, 'review')} in the last 365 days. A click on a day shows its reviews`,
    columns: ['Day', 'Reviews'],
    rows: days.map(({ date, count }) => [date, count]),
    hrefOf: ([date]) => hrefOf(String(date)),
    drawing: () => heatMap(days, hrefOf),
    legend: heatLegend(),
    isWide: true,
    nothing: total === 0 && 'No reviews in the last 365 days.',
  });
}

/** @param {Count} count */
const recalledOf = ({ recalled, reviews }) => `${whole(recalled)} of ${counted(reviews, 'review')} recalled`;
/** @param {Count} count */
export const cells = ({ reviews, recalled, retention }) => [reviews, recalled, percent(retention)];
export const RETENTION_COLUMNS = ['Reviews', 'Recalled', 'Retention'];
/** In per cent, rounded. @param {number | null} share */
const toPercent = (share) => (share === null ? null : Math.round(share * 100));

/** @param {Overview} user @param {number} length Days of the window. */
export function retentionByBand({ window: { retention } }, length) {
  const data = retention.bands.map(({ band, count }) => ({
    title: bandName(band),
    label: [shortBandName(band), `n = ${whole(count.reviews)}`],
    value: toPercent(count.retention),
    text: `${percent(count.retention)}: ${recalledOf(count)}`,
    color: count.reviews < FEW_REVIEWS ? 'faint' : 'accent',
  }));
  return figure({
    title: 'Retention by interval',
    note: `Share graded 3 or better in the last ${counted(length, 'day')}, by the interval before the review. ${FAINT}`,
    columns: ['Interval', ...RETENTION_COLUMNS],
    rows: retention.bands.map(({ band, count }) => [bandName(band), ...cells(count)]),
    drawing: () => chart('Retention by interval band', bars(data, '% recalled', 100)),
    nothing:
      retention.bands.every(({ count }) => count.reviews === 0) &&
      `No reviews in the last ${counted(length, 'day')}.`,
  });
}

/** Fewer say little about retention. */
const FEW_REVIEWS = 10;
const FAINT = `Faint: fewer than ${FEW_REVIEWS} reviews`;

/** @param {Overview} user @param {number} length Days of the window. */
export function retentionOverTime({ both: { retention } }, length) {
  const isByWeek = length > 7;
  const spans = spansOf(retention.days, isByWeek ? 7 : 1);
  const [first] = halves(retention.days).window;
  const data = spans.map(({ date, count }) => ({
    label: day(date),
    title: isByWeek ? `Week from ${longDay(date)}` : longDay(date),
    value: toPercent(count.retention),
    text: `${percent(count.retention)}: ${recalledOf(count)}`,
    color: count.reviews < FEW_REVIEWS ? 'faint' : date < (first?.date ?? '') ? 'line-strong' : 'accent',
  }));
  return figure({
    title: 'Retention over time',
    note: `Share graded 3 or better by ${isByWeek ? 'week' : 'day'}, the window before in grey. ${FAINT}`,
    columns: [isByWeek ? 'Week from' : 'Day', ...RETENTION_COLUMNS],
    rows: spans.map(({ date, count }) => [date, ...cells(count)]),
    drawing: () => chart('Retention over time', line(data, '% recalled', 100)),
    nothing:
      spans.every(({ count }) => count.reviews === 0) &&
      `No reviews in the last ${counted(2 * length, 'day')}.`,
  });
}

/** @param {Overview} user */
export function easeFactors({ window: { distributions } }) {
  const data = distributions.easeFactors.map(({ ef, count }) => ({
    label: ef.toFixed(1),
    title: `Ease factor ${ef.toFixed(2)} to ${(ef + 0.09).toFixed(2)}`,
    value: count,
    text: counted(count, 'material'),
  }));
  return figure({
    title: 'Ease factors',
    note: 'Active materials. A lower factor means harder',
    columns: ['Ease factor from', 'Materials'],
    rows: distributions.easeFactors.map(({ ef, count }) => [ef.toFixed(1), count]),
    drawing: () => chart('Materials by ease factor', bars(data, 'materials')),
    nothing: data.length === 0 && 'There are no active materials.',
  });
}

/** @param {Overview} user */
export function intervals({ window: { distributions } }) {
  const data = distributions.intervals.map(({ band, count }) => ({
    title: bandName(band),
    label: shortBandName(band),
    value: count,
    text: counted(count, 'material'),
  }));
  return figure({
    title: 'Intervals',
    note: 'Active materials by interval',
    columns: ['Interval', 'Materials'],
    rows: distributions.intervals.map(({ band, count }) => [bandName(band), count]),
    drawing: () => chart('Materials by interval', bars(data, 'materials')),
    nothing: data.every(({ value }) => value === 0) && 'There are no active materials.',
  });
}
