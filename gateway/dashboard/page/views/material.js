// A material: its content, its schedule, a preview of each grade, its reviews and snoozes.
/** @import { Child, Context, Material, Review, User } from '../types.d.ts' */

import { askLabels, materialActions } from '../actions/material-actions.js';
import { FailedCallError, request } from '../api.js';
import { chart } from '../charts/charts.js';
import { figure } from '../charts/figure.js';
import { history, historyLegend } from '../charts/history.js';
import { h } from '../dom.js';
import { counted, distance, instant, nowOf, shortDay, span, spans, spoken, titleOf } from '../format.js';
import { labelLinks } from '../labels.js';
import { loadedPages, showList } from '../older.js';
import { button, card, empty, facts, grade, leechBadge, muted, shortId, table } from '../ui.js';
import { learnerPage } from './learner-page.js';

export const materialView = learnerPage({
  tab: 'Materials',
  title: ({ email }, _route, material) => (material ? titleOf(material.title) : `Material of ${email}`),
  ask: async ({ ids: [userId = '', id = ''] }, place) => {
    const { material } = await request('MATERIAL', { userId, id });
    if (material === null) return null;
    const older = (/** @type {string | null} */ after) => olderReviews(userId, id, after);
    return { ...material, reviews: await loadedPages(place, material.reviews, older) };
  },
  show: (context, user, material) => [
    h(
      'div',
      { class: 'heading' },
      h('h2', {}, titleOf(material.title)),
      materialActions(context, user, material),
    ),
    h(
      'div',
      { class: 'grid' },
      ...[content(context, user, material), schedule(user, material), previews(material)],
      snoozes(user, material),
      reviews(context, user, material),
    ),
  ],
  noun: 'material',
  missing: 'The material is not available.',
});

/** @param {Context} context @param {User} user @param {Material} material */
function content(context, user, material) {
  const { content, sourceUrl, type, labels } = material;
  return card(
    'Content',
    content ? h('p', { class: 'prose', tabindex: '0' }, content) : muted('No content.'),
    muted(`${spoken(type)}. Source: `, sourceUrl ? source(sourceUrl) : 'none'),
    h(
      'div',
      { class: 'actions baseline' },
      labelLinks(user.id, labels) || h('span', { class: 'muted' }, 'No labels.'),
      context.mayChange &&
        button('Edit labels', () => askLabels(context, user, material), { id: 'edit-labels' }),
    ),
  );
}

/** A link for http and https only: other schemes can execute code. @param {string} url */
function source(url) {
  const protocol = URL.parse(url)?.protocol;
  if (protocol !== 'https:' && protocol !== 'http:') return h('span', { class: 'break' }, url);
  return h('a', { href: url, rel: 'noopener noreferrer', target: '_blank', class: 'break' }, url);
}

/** @param {User} user @param {Material} material */
function schedule(user, material) {
  const { timeZone } = user;
  const { nextReview, isDue, archivedAt } = material;
  const due =
    nextReview === null ? 'now' : `${instant(nextReview, timeZone)} (${distance(nextReview, nowOf(user))})`;
  /** @type {[string, Child][]} */
  const about = [
    ['State', archivedAt ? `archived ${instant(archivedAt, timeZone)}` : isDue ? 'due now' : 'not due yet'],
    ['Next review', due],
    ['Interval', span(material.interval)],
    ['Ease factor', material.ef.toFixed(2)],
    ['Repetitions', material.repetitions],
    ['Lapses', [material.lapses, material.isLeech && [' ', leechBadge()]]],
    ['Last reviewed', instant(material.lastReviewed, timeZone)],
    ['Created', instant(material.createdAt, timeZone)],
    ['Changed', `${instant(material.updatedAt, timeZone)} (revision ${material.revision})`],
    ['ID', shortId(material.id)],
  ];
  return card('Schedule', facts(about));
}

/** @param {Material} material */
function previews({ previews }) {
  const one = (/** @type {Material['previews'][number]} */ { quality, schedule: { interval, ef } }) =>
    h('li', {}, grade(quality), ` Due in ${span(interval)}, ease ${ef.toFixed(2)}`);
  return card('If graded now', h('ul', { class: 'plain' }, previews.map(one)));
}

/** @param {User} user @param {Material} material */
function snoozes({ timeZone }, { snoozes: { nodes, pageInfo } }) {
  if (nodes.length === 0) return card('Snoozes', empty('This material was never snoozed.'));
  const rows = nodes.map(({ createdAt, reason, cancelledAt, movedMaterials, materialCount, ...snooze }) => [
    instant(createdAt, timeZone),
    [
      // Each material of a spread waits until a day of its own.
      snooze.spreadDays === null
        ? instant(snooze.snoozeUntil, timeZone)
        : `spread over ${counted(snooze.spreadDays, 'day')}`,
      movedMaterials === 0 && [h('br'), h('small', {}, 'no effect: due later anyway')],
      cancelledAt && [h('br'), h('small', {}, `cancelled ${instant(cancelledAt, timeZone)}`)],
    ],
    reason ? h('span', { class: 'break' }, reason) : '–',
    materialCount > 1 ? counted(materialCount - 1, 'other') : '–',
  ]);
  return card(
    'Snoozes',
    table('Snoozes', ['Created', 'Until', 'Reason', 'Together with'], rows, 'stacks'),
    pageInfo.hasNextPage && muted('The latest 50 are shown.'),
  );
}

/** @param {string} userId @param {string} id @param {string | null} after */
async function olderReviews(userId, id, after) {
  const { material } = await request('OLDER_REVIEWS', { userId, id, after });
  if (material === null) throw new FailedCallError('The material has been removed.', 'Reload the page.');
  return material.reviews;
}

/** The review history, with a button that loads older reviews. @param {Context} context @param {User} user @param {Material} material */
function reviews({ place }, user, { id, reviews: list }) {
  const section = h('div', { class: 'wide' });
  showList(section, place, list, {
    label: 'Load older reviews',
    older: (after) => olderReviews(user.id, id, after),
    show: (known, older) => [historyFigure(user, known, !older), older],
  });
  return section;
}

/** @param {number} undone @param {boolean} isAll Whether there are no older ones. */
function whyEmpty(undone, isAll) {
  if (undone === 0) return 'This material was never reviewed.';
  return isAll
    ? 'Each review of this material was undone.'
    : `Each of the latest ${undone} reviews was undone.`;
}

/** @param {User} user @param {readonly Review[]} latestFirst @param {boolean} isAll Whether there are no older ones. */
function historyFigure({ timeZone }, latestFirst, isAll) {
  const day = (/** @type {number} */ timeMs) => shortDay(timeMs, timeZone);
  const countedReviews = latestFirst.filter(({ undoneAt }) => undoneAt === null);
  const inHistory = countedReviews.toReversed().map(({ quality, reviewedAt, before, after }) => ({
    timeMs: Date.parse(reviewedAt),
    quality,
    intervalDays: after.interval,
    title: instant(reviewedAt, timeZone),
    text: `Graded ${quality}: interval ${spans(before.interval, after.interval)}, ease ${after.ef.toFixed(2)}`,
  }));
  // What an import added comes before the reviews of here, whenever it was made.
  const data = inHistory.toSorted((a, b) => a.timeMs - b.timeMs);
  return figure({
    title: 'History',
    note: `${isAll ? '' : 'The latest '}${counted(countedReviews.length, 'review')}: the interval from each on, on a logarithmic axis`,
    columns: ['Reviewed', 'Grade', 'Interval before', 'Interval after', 'Ease after', 'Next due'],
    rows: latestFirst.map(({ quality, reviewedAt, undoneAt, before, after }) => [
      instant(reviewedAt, timeZone),
      quality,
      before.interval,
      after.interval,
      after.ef.toFixed(2),
      undoneAt ? `undone ${instant(undoneAt, timeZone)}` : instant(after.nextReview, timeZone),
    ]),
    drawing: () => chart('Interval over time', history(data, day)),
    legend: historyLegend(countedReviews.map(({ quality }) => quality)),
    nothing: countedReviews.length === 0 && whyEmpty(latestFirst.length, isAll),
  });
}
