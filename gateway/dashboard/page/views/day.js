// The reviews of one day, which a day of the heat map leads to.
/** @import { Context, Day, User } from '../types.d.ts' */
import { request } from '../api.js';
import { h } from '../dom.js';
import { counted, longDay, nextDay, percent, spans, timeOfDay } from '../format.js';
import { empty, grade, materialLink, muted, nothingLeft, pager, table } from '../ui.js';
import { learnerPage } from './learner-page.js';

export const dayView = learnerPage({
  tab: 'Overview',
  title: ({ email }, { ids: [, date = ''] }) => `${longDay(date)}, ${email}`,
  ask: async ({ ids: [id = '', date = ''], params }) => {
    if (Number.isNaN(Date.parse(`${date}T00:00:00Z`))) return null;
    return (await request('DAY', { id, date, after: params.get('after') })).user;
  },
  above: ({ ids: [id, date = ''] }) => {
    const to = (/** @type {number} */ days, /** @type {string} */ name) =>
      h('a', { class: 'button', href: `#/users/${id}/days/${nextDay(date, days)}` }, name);
    return h(
      'div',
      { class: 'heading' },
      h('h2', {}, longDay(date)),
      h('nav', { class: 'actions', 'aria-label': 'Days' }, to(-1, 'Day before'), to(1, 'Day after')),
    );
  },
  show: reviews,
  noun: 'day',
  missing: 'The reviews are not available.',
});

/** @param {Context} context @param {User} user @param {Day} day */
function reviews({ route }, { id, timeZone }, { reviews: { nodes, pageInfo } }) {
  if (nodes.length === 0) return nothingLeft(route) ?? empty('No reviews on this day.');
  const rows = nodes.map(({ quality, reviewedAt, undoneAt, before, after, materialId, material }) => [
    timeOfDay(reviewedAt, timeZone),
    material === null ? 'a material that was deleted' : materialLink(id, materialId, material.title),
    grade(quality),
    undoneAt === null ? spans(before.interval, after.interval) : 'undone',
  ]);
  const counts = nodes.filter(({ undoneAt }) => undoneAt === null);
  const recalled = counts.filter(({ quality }) => quality >= 3).length;
  const isAll = !pageInfo.hasNextPage && !route.params.has('after');
  return h(
    'section',
    { class: 'card', 'aria-label': 'Reviews' },
    isAll &&
      muted(
        counted(counts.length, 'review'),
        counts.length > 0 && `, ${percent(recalled / counts.length)} recalled`,
      ),
    table('Reviews', ['Time', 'Material', 'Grade', 'Interval'], rows),
    pager(pageInfo, route),
  );
}
