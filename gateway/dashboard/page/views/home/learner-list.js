// The home's list of learners, which sorts and filters.
/** @import { LearnerRow, Learners, Route } from '../../types.d.ts' */

import { h } from '../../dom.js';
import { field, select } from '../../fields.js';
import { filterForm } from '../../filters.js';
import { counted, longDay, percent, whole } from '../../format.js';
import { empty, learnerLink, nothingLeft, pager, table } from '../../ui.js';

const ORDERS = [
  ['DUE', 'Most due'],
  ['REVIEWS', 'Most reviews in 30 days'],
  ['RETENTION', 'Lowest retention (n ≥ 10)'],
  ['LAST_REVIEW', 'Longest without a review (60 days)'],
];
const FILTERS = [
  ['', 'All'],
  ['BACKLOG_GROWING', 'Backlog growing'],
  ['STREAK_BROKEN', 'Streak just broken'],
  ['WENT_QUIET', 'Went quiet'],
];

/** @param {Learners} learners @param {Route} route */
export function learnerList({ nodes, pageInfo }, route) {
  const { params } = route;
  const form = filterForm(
    '#/',
    'bar',
    field('Sort', select('order', ORDERS, params.get('order') ?? 'DUE')),
    field('Show', select('filter', FILTERS, params.get('filter') ?? '')),
  );
  const columns = ['E-mail', 'Due', 'Reviews, 30 days', 'Retention, 30 days', 'Last review', 'Streak'];
  return h(
    'section',
    { class: 'card', 'aria-label': 'Learners' },
    h('div', { class: 'heading' }, h('h2', {}, 'Learners'), form),
    nodes.length > 0
      ? [table('Learners', columns, nodes.map(row), 'stacks'), pager(pageInfo, route)]
      : (nothingLeft(route) ?? empty('No learner matches.', h('a', { href: '#/' }, 'Show all'))),
  );
}

/** @param {LearnerRow} learner */
function row({ userId, user, due, overdue, dueBefore, month, monthBefore, ...learner }) {
  const before = (/** @type {string | number} */ value) =>
    h('small', { class: 'muted' }, ` (${value} before)`);
  return [
    learnerLink(`#/users/${userId}`, user?.email ?? userId, user),
    [
      whole(due),
      overdue > 0 && h('small', {}, ` (${whole(overdue)} overdue)`),
      dueBefore !== null && h('small', { class: 'muted' }, ` (${whole(dueBefore)} a week ago)`),
    ],
    [whole(month.reviews), before(whole(monthBefore.reviews))],
    [
      percent(month.retention),
      month.retention !== null && h('small', { class: 'muted' }, ` of ${whole(month.reviews)}`),
    ],
    learner.lastReviewOn === null ? 'none in 60 days' : longDay(learner.lastReviewOn),
    learner.brokenStreakDays > 0
      ? `broken after ${streak(learner.brokenStreakDays, 58)}`
      : streak(learner.streakDays, 59),
  ];
}

/**
 * Of a streak only the last 60 days are known, today included.
 * @param {number} days @param {number} all So many are known of a streak that is longer, or more.
 */
const streak = (days, all) => (days < all ? counted(days, 'day') : `${days} days or more`);
