// A learner's overview: figures of a window and the one before, six charts, the hardest materials, and how well recall is predicted.
/** @import { Child, Context, Count, Overview, User, View } from '../types.d.ts' */
import { askCatchUp } from '../actions/catch-up.js';
import { request } from '../api.js';
import { halves, retentionOf, sumOf } from '../charts/periods.js';
import { tile, tiles } from '../charts/tiles.js';
import { h } from '../dom.js';
import { field, select } from '../fields.js';
import { filterForm } from '../filters.js';
import { counted, longDay, percent, whole } from '../format.js';
import { ifAnswered, missingPart } from '../parts.js';
import { button, card, empty, materialLink, muted, table } from '../ui.js';
import { learnerPage } from './learner-page.js';
import {
  calendar,
  cells,
  easeFactors,
  forecast,
  intervals,
  RETENTION_COLUMNS,
  retentionByBand,
  retentionOverTime,
} from './overview-figures.js';
import { predictionCards } from './prediction.js';

const WINDOWS = ['7', '30', '90', '180'];
const DEFAULT_WINDOW = '30';

/** @param {Context} context @returns {Promise<View>} */
export function overviewView(context) {
  const { ids, params } = context.route;
  const chosen = params.get('days') ?? DEFAULT_WINDOW;
  const days = Number(WINDOWS.includes(chosen) ? chosen : DEFAULT_WINDOW);
  const [id = ''] = ids;
  return learnerPage(context, {
    tab: 'Overview',
    title: ({ email }) => email,
    ask: async () => {
      const [{ user }, prediction] = await Promise.all([
        request('OVERVIEW', { id, days, both: 2 * days }),
        // By itself, since it reads all reviews: the figures do not fail with it.
        ifAnswered(request('PREDICTION', { id })),
      ]);
      return user && { figures: user, prediction };
    },
    show: (user, { figures: data, prediction }) => {
      if (isEmpty(data)) return nothingYet();
      const card =
        prediction instanceof Error
          ? missingPart('The prediction is not available.', prediction, context.refresh)
          : prediction.user && predictionCards(prediction.user.stats.prediction, user);
      return [catchUp(context, user, data), figures(data, days, card)];
    },
    missing: 'The statistics are not available.',
  });
}

/** @param {Overview} user */
const isEmpty = ({ window, materialCounts, year }) =>
  window.distributions.easeFactors.length === 0 &&
  materialCounts.archived === 0 &&
  year.activity.days.every(({ count }) => count === 0);

/** @param {Context} context @param {User} user @param {Overview} data */
const catchUp = (context, user, { window }) =>
  context.mayChange &&
  window.forecast.dueNow > 0 &&
  h(
    'p',
    {},
    button('Catch up …', () => askCatchUp(context, user), { id: 'catch-up' }),
  );

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
