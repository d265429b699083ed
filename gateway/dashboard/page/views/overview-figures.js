// The six charts of a learner's overview.
/** @import { Count, Overview } from '../types.d.ts' */
import { bars, chart, line } from '../charts/charts.js';
import { figure } from '../charts/figure.js';
import { heatLegend, heatMap } from '../charts/heat-map.js';
import { bandName, counted, day, longDay, percent, whole } from '../format.js';

/** @param {Overview} user */
export function forecast({ month: { forecast } }) {
  const { overdue, days } = forecast;
  const rows = [
    { label: 'Overdue', title: 'Due before today', count: overdue, color: 'bad' },
    ...days.map(({ date, count }, index) => ({
      label: index === 0 ? 'Today' : day(date),
      title: longDay(date),
      count,
      color: 'accent',
    })),
  ];
  const data = rows.map(({ count, ...row }) => ({ ...row, value: count, text: counted(count, 'material') }));
  return figure({
    title: 'Forecast',
    note: 'Materials that become due, by day',
    columns: ['Day', 'Materials due'],
    rows: [['Overdue', overdue], ...days.map(({ date, count }) => [date, count])],
    isWide: true,
    drawing: () => chart('Forecast of the next 30 days', bars(data, 'materials')),
    nothing: rows.every(({ count }) => count === 0) && 'Nothing becomes due in the next 30 days.',
  });
}

/** @param {Overview} user */
export function calendar({ year: { activity } }) {
  const { days } = activity;
  const total = days.reduce((sum, { count }) => sum + count, 0);
  return figure({
    title: 'Year',
    note: `${counted(total, 'review')} in the last 365 days`,
    columns: ['Day', 'Reviews'],
    rows: days.map(({ date, count }) => [date, count]),
    drawing: () => heatMap(days),
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

/** @param {Overview} user */
export function retentionByBand({ year: { retention } }) {
  const data = retention.bands.map(({ band, count }) => ({
    label: bandName(band),
    value: toPercent(count.retention),
    text: `${percent(count.retention)}: ${recalledOf(count)}`,
  }));
  return figure({
    title: 'Retention by interval',
    note: 'Share graded 3 or better in the last 365 days, by the interval before the review',
    columns: ['Interval', ...RETENTION_COLUMNS],
    rows: retention.bands.map(({ band, count }) => [bandName(band), ...cells(count)]),
    drawing: () => chart('Retention by interval band', bars(data, '% recalled', 100)),
    nothing: retention.bands.every(({ count }) => count.reviews === 0) && 'No reviews in the last 365 days.',
  });
}

/** @param {Overview} user */
export function retentionOverTime({ year: { retention } }) {
  const weeks = weeksOf(retention.days);
  const data = weeks.map(({ date, count }) => ({
    label: day(date),
    title: `Week from ${longDay(date)}`,
    value: toPercent(count.retention),
    text: `${percent(count.retention)}: ${recalledOf(count)}`,
  }));
  return figure({
    title: 'Retention over time',
    note: 'Share graded 3 or better, by week',
    columns: ['Week from', ...RETENTION_COLUMNS],
    rows: weeks.map(({ date, count }) => [date, ...cells(count)]),
    drawing: () => chart('Retention by week', line(data, '% recalled', 100)),
    nothing: weeks.every(({ count }) => count.reviews === 0) && 'No reviews in the last 365 days.',
  });
}

/** Groups days into weeks that end today, so that the latest week is complete. @param {readonly { date: string, count: Count }[]} days */
function weeksOf(days) {
  const weeks = [];
  for (let start = days.length % 7; start < days.length; start += 7) {
    const week = days.slice(start, start + 7);
    const reviews = week.reduce((sum, { count }) => sum + count.reviews, 0);
    const recalled = week.reduce((sum, { count }) => sum + count.recalled, 0);
    const retention = reviews === 0 ? null : recalled / reviews;
    weeks.push({ date: week[0]?.date ?? '', count: { reviews, recalled, retention } });
  }
  return weeks;
}

/** @param {Overview} user */
export function easeFactors({ month: { distributions } }) {
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
export function intervals({ month: { distributions } }) {
  const data = distributions.intervals.map(({ band, count }) => ({
    label: bandName(band),
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
