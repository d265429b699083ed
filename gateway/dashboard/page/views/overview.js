// A learner's overview: figures of a window and the one before, six charts, the hardest materials, and how well recall is predicted.
/** @import { Child, Context, Count, Overview, User } from '../types.d.ts' */
import { askCatchUp } from '../actions/catch-up.js';
import { request } from '../api.js';
import { bars, barsWithSum, chart, line } from '../charts/charts.js';
import { figure } from '../charts/figure.js';
import { heatLegend, heatMap } from '../charts/heat-map.js';
import { halves, retentionOf, spansOf, sumOf } from '../charts/periods.js';
import { tile, tiles } from '../charts/tiles.js';
import { h } from '../dom.js';
import { field, select } from '../fields.js';
import { filterForm } from '../filters.js';
import { bandName, counted, day, longDay, percent, shortBandName, whole } from '../format.js';
import { ifAnswered, missingPart } from '../parts.js';
import { actions, button, card, empty, materialLink, muted, table } from '../ui.js';
import { learnerPage } from './learner-page.js';
import { predictionCards } from './prediction.js';

const WINDOWS = ['7', '30', '90', '180'];
const DEFAULT_WINDOW = '30';

export const overviewView = learnerPage({
  tab: 'Overview',
  title: ({ email }) => email,
  ask: async ({ ids: [id = ''], params }) => {
    const chosen = params.get('days') ?? DEFAULT_WINDOW;
    const days = Number(WINDOWS.includes(chosen) ? chosen : DEFAULT_WINDOW);
    const [{ user }, prediction] = await Promise.all([
      request('OVERVIEW', { id, days, both: 2 * days }),
      // By itself, since it reads all reviews: the figures do not fail with it.
      ifAnswered(request('PREDICTION', { id })),
    ]);
    return user && { days, figures: user, prediction };
  },
  show: (context, user, { days, figures: data, prediction }) => {
    if (isEmpty(data)) return nothingYet();
    const card =
      prediction instanceof Error
        ? missingPart('The prediction is not available.', prediction, context.refresh)
        : prediction.user && predictionCards(prediction.user.stats.prediction, user);
    return [catchUp(context, user, data), figures(data, days, card)];
  },
  missing: 'The statistics are not available.',
});

/** @param {Overview} user */
const isEmpty = ({ window, materialCounts, year }) =>
  window.distributions.easeFactors.length === 0 &&
  materialCounts.archived === 0 &&
  year.activity.days.every(({ count }) => count === 0);

/** @param {Context} context @param {User} user @param {Overview} data */
const catchUp = (context, user, { window }) =>
  context.mayChange &&
  window.forecast.dueNow > 0 &&
  actions(button('Catch up …', () => askCatchUp(context, user), { id: 'catch-up' }));

const nothingYet = () =>
  empty(
    'This learner has no material yet.',
    'An app creates materials through the API, with a key from the page “Keys”.',
  );

/** @param {Overview} user @param {number} days Of the window. @param {Child} predictionCard */
function figures(user, days, predictionCard) {
  const options = WINDOWS.map((value) => [value, `${value} days`]);
  return [
    filterForm(
      `#/users/${user.id}`,
      'bar',
      field('Window, compared with the one before', select('days', options, String(days))),
    ),
    totals(user, days),
    h(
      'div',
      { class: 'grid' },
      ...[forecast(user), calendar(user), retentionByBand(user, days), retentionOverTime(user, days)],
      ...[easeFactors(user), intervals(user), hardest(user, days)],
      predictionCard,
    ),
  ];
}

/** @param {Overview} user @param {number} length Days of the window. */
function totals({ id, materialCounts, window, both, year }, length) {
  const { currentStreakDays, longestStreakDays, days } = year.activity;
  const periods = halves(both.retention.days);
  const [now, before] = [sumOf(countsOf(periods.window)), sumOf(countsOf(periods.before))];
  const share = (/** @type {string} */ name, /** @type {{ window: Count, before: Count }} */ of) =>
    tile(
      `${name}, ${length} days`,
      percent(of.window.retention),
      `of ${counted(of.window.reviews, 'review')}; before: ${percent(of.before.retention)} of ${whole(of.before.reviews)}`,
    );
  const retention = (/** @type {'young' | 'mature'} */ age) =>
    retentionOf(age, window.retention.bands, both.retention.bands);
  return tiles(
    tile('Due now', whole(window.forecast.dueNow), 'materials'),
    tile('Overdue', whole(window.forecast.overdue), 'due before today'),
    tile('Reviews today', whole(days.at(-1)?.count ?? 0), beforeToday(days)),
    tile(`Reviews, ${length} days`, whole(now.reviews), `${whole(before.reviews)} in the ${length} before`),
    tile('Streak', counted(currentStreakDays, 'day'), `longest ${counted(longestStreakDays, 'day')}`),
    tile(
      'Leeches',
      whole(materialCounts.leeches),
      h('a', { href: `#/users/${id}/materials?state=leeches` }, 'forgotten again and again'),
    ),
    share('Retention, all', { window: now, before }),
    share('Young (interval under 21 days)', retention('young')),
    share('Mature (interval of 21 days or more)', retention('mature')),
  );
}

/** How many reviews there were yesterday, or when the last one was. @param {Overview['year']['activity']['days']} days */
function beforeToday(days) {
  const yesterday = days.at(-2)?.count ?? 0;
  const last = days.findLast(({ count }) => count > 0);
  if (yesterday > 0 || last === days.at(-1)) return `${whole(yesterday)} yesterday`;
  return last ? `last on ${longDay(last.date)}` : `none in ${counted(days.length, 'day')}`;
}

const countsOf = (/** @type {readonly { count: Count }[]} */ days) => days.map(({ count }) => count);

/** @param {Overview} user @param {number} length Days of the window. */
function hardest({ id, window }, length) {
  const { nodes } = window.hardestMaterials;
  if (nodes.length === 0)
    return card('Hardest materials', empty('No active material was reviewed three times in the window.'));
  const rows = nodes.map(({ material, count }) => [
    materialLink(id, material.id, material.title),
    ...cells(count),
  ]);
  const section = card(
    'Hardest materials',
    muted(
      `Lowest retention first, of those reviewed three times or more in the last ${counted(length, 'day')}`,
    ),
    table('Hardest materials', ['Material', ...RETENTION_COLUMNS], rows, 'stacks'),
  );
  section.classList.add('wide');
  return section;
}

/** @param {Overview} user */
function forecast({ window: { forecast } }) {
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
function calendar({ id, year: { activity } }) {
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
const cells = ({ reviews, recalled, retention }) => [reviews, recalled, percent(retention)];
const RETENTION_COLUMNS = ['Reviews', 'Recalled', 'Retention'];
/** In per cent, rounded. @param {number | null} share */
const toPercent = (share) => (share === null ? null : Math.round(share * 100));

/** @param {Overview} user @param {number} length Days of the window. */
function retentionByBand({ window: { retention } }, length) {
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
function retentionOverTime({ both: { retention } }, length) {
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
function easeFactors({ window: { distributions } }) {
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
function intervals({ window: { distributions } }) {
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
