// The home: how all learners are doing, beside who needs attention and the list of learners.
/** @import { AllLearners, Context, Variables, View } from '../../types.d.ts' */
import { addButton } from '../../actions/profile-actions.js';
import { FailedCallError, request } from '../../api.js';
import { bars, chart } from '../../charts/charts.js';
import { figure } from '../../charts/figure.js';
import { sumOf } from '../../charts/periods.js';
import { tile, tiles } from '../../charts/tiles.js';
import { h } from '../../dom.js';
import { counted, day, instant, longDay, percent, whole } from '../../format.js';
import { ifAnswered, missingPart } from '../../parts.js';
import { card, empty, muted, table } from '../../ui.js';
import { NAMES } from '../prediction.js';
import { askAttention, attention } from './attention.js';
import { learnerList } from './learner-list.js';

const WINDOW = 30;

/** @param {Context} context @returns {Promise<View>} */
export async function homeView(context) {
  const { route, refresh } = context;
  const { params } = route;
  const heading = h(
    'div',
    { class: 'heading' },
    h('h1', {}, 'Learners'),
    context.mayChange && addButton(context),
  );
  const all = h(
    'p',
    { class: 'links' },
    h('a', { href: '#/users' }, 'All learners, newest first'),
    h('a', { href: '#/audit' }, 'Audit: what was done to them'),
  );
  const asked = request('LEARNERS', {
    after: params.get('after'),
    // The gateway refuses other values.
    order: /** @type {NonNullable<Variables<'LEARNERS'>['order']> | null} */ (params.get('order')),
    filter: /** @type {NonNullable<Variables<'LEARNERS'>['filter']> | null} */ (params.get('filter')),
  });
  const [home, listed, counts] = await Promise.all([
    ifAnswered(request('HOME', {})),
    ifAnswered(asked),
    askAttention(),
  ]);
  if (home instanceof FailedCallError) {
    const what = 'The figures of all learners are not available.';
    const works = 'The search and the list of all learners work.';
    const missing = missingPart(what, home, refresh, works);
    return { title: 'Learners', content: [heading, missing, attention(null, counts), all] };
  }
  const learners =
    listed instanceof FailedCallError
      ? missingPart('The list of learners is not available.', listed, refresh)
      : learnerList(listed.learners, route);
  // Sandbox learners are listed, and not counted.
  const isNobody =
    home.overview.learners === 0 &&
    !(listed instanceof FailedCallError || params.has('filter') || params.has('after')) &&
    listed.learners.nodes.length === 0;
  const shown = isNobody ? nobody() : figures(home.overview, counts, learners);
  return { title: 'Learners', content: [heading, shown, all] };
}

const nobody = () =>
  empty('No learner has a material yet.', [
    'Create some: ',
    h('code', {}, 'npm run seed -- --users 20 --materials 200'),
  ]);

/** @param {AllLearners} overview @param {Awaited<ReturnType<typeof askAttention>>} counts @param {Element} learners */
function figures(overview, counts, learners) {
  const asOf = `Counted at ${instant(overview.asOf, 'UTC')} UTC or later, one after the other. Days are UTC days; today is not over.`;
  return [
    muted(asOf),
    totals(overview),
    h('div', { class: 'grid' }, reviewsPerDay(overview), attention(overview, counts)),
    learners,
    bestPredictors(overview),
  ];
}

/** @param {AllLearners} overview */
function totals(overview) {
  const { days } = overview;
  const [month, before] = [sumOf(days.slice(-WINDOW)), sumOf(days.slice(-2 * WINDOW, -WINDOW))];
  const perDay = (/** @type {{ reviews: number }} */ { reviews }) => whole(Math.round(reviews / WINDOW));
  const dueBefore = days.at(-8)?.due ?? null;
  return tiles(
    tile('Active today', whole(days.at(-1)?.learners ?? 0), `${whole(days.at(-2)?.learners ?? 0)} yesterday`),
    tile('Active, 7 days', whole(overview.activeWeek), `${whole(overview.activeWeekBefore)} in the 7 before`),
    tile(
      'Active, 30 days',
      whole(overview.activeMonth),
      `${whole(overview.activeMonthBefore)} in the 30 before`,
    ),
    tile('Reviews a day, 30 days', perDay(month), `${perDay(before)} in the 30 before`),
    tile(
      'Retention, 30 days',
      percent(month.retention),
      `of ${counted(month.reviews, 'review')}; ${percent(before.retention)} of ${whole(before.reviews)} before`,
    ),
    tile('Due now', whole(overview.due), dueBefore === null ? 'materials' : `${whole(dueBefore)} a week ago`),
    tile('Overdue', whole(overview.overdue), 'of those due: since before today'),
  );
}

/** @param {AllLearners} overview */
function reviewsPerDay({ days }) {
  const data = days.map(({ date, reviews, learners }, index) => ({
    label: day(date),
    title: longDay(date),
    value: reviews,
    text: `${counted(reviews, 'review')} by ${counted(learners, 'learner')}`,
    color: index < days.length - WINDOW ? 'line-strong' : 'accent',
  }));
  return figure({
    title: 'Reviews a day',
    note: 'The last 30 days, after the 30 before in grey',
    columns: ['Day', 'Reviews', 'Learners', 'Recalled'],
    rows: days.map(({ date, reviews, learners, recalled }) => [date, reviews, learners, recalled]),
    drawing: () => chart('Reviews per day of all learners', bars(data, 'reviews')),
    nothing: days.every(({ reviews }) => reviews === 0) && 'No reviews in the last 60 days.',
  });
}

const BEST = {
  ...NAMES,
  FSRS_TRAINED: 'FSRS, trained on the learner',
  NONE: 'None is reliably better than the average',
};

/** For how many learners each predictor is best. @param {AllLearners} overview */
function bestPredictors({ bestPredictors: best }) {
  if (best === null || best.counts.length === 0) return null;
  const all = best.counts.reduce((sum, { learners }) => sum + learners, 0);
  return card(
    'What predicts recall best',
    table(
      'Best predictors',
      ['Predictor', 'Learners', 'Share'],
      best.counts.map(({ predictor, learners }) => [
        BEST[predictor ?? 'NONE'],
        whole(learners),
        percent(learners / all),
      ]),
    ),
    muted(
      `Of ${counted(all, 'learner')} with enough reviews to say, as of ${instant(best.asOf, 'UTC')} UTC. Each one’s overview compares the predictors.`,
    ),
  );
}
