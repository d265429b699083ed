// The materials of a learner, with search, filters and pages.
/** @import { Context, MaterialRow, Materials, Route, User, Variables } from '../types.d.ts' */

import { bulkActions, selectBox } from '../actions/bulk-actions.js';
import { materialActions } from '../actions/material-actions.js';
import { request } from '../api.js';
import { h } from '../dom.js';
import { field, select } from '../fields.js';
import { filterForm, filterInput, keepFilters } from '../filters.js';
import { counted, distance, instant, nowOf, span, spoken, whole } from '../format.js';
import { labelLinks } from '../labels.js';
import { attempt, empty, leechBadge, materialLink, muted, nothingLeft, pager, table } from '../ui.js';
import { learnerPage } from './learner-page.js';

/** @type {Readonly<Record<string, Partial<Variables<'MATERIALS'>>>>} */
const STATES = {
  active: { state: 'ACTIVE' },
  due: { state: 'ACTIVE', due: true },
  later: { state: 'ACTIVE', due: false },
  archived: { state: 'ARCHIVED' },
  leeches: { state: 'ACTIVE', leeches: true },
  any: { state: 'ANY' },
};
const STATE_NAMES = [
  ['active', 'Active'],
  ['due', 'Due now'],
  ['later', 'Not due yet'],
  ['archived', 'Archived'],
  ['leeches', 'Leeches'],
  ['any', 'All'],
];
const TYPE_NAMES = [
  ['', 'Any'],
  ...['SIMPLE', 'MATERIAL', 'FLASHCARD', 'CARD'].map((type) => [type, spoken(type)]),
];

const ORDERS = [
  ['', 'Newest first'],
  ['NEXT_REVIEW', 'Next review first'],
  ['LAST_REVIEW', 'Longest without a review'],
  ['EASE', 'Lowest ease'],
];

const ORDER_OF_SEARCH = [['', 'Matches in titles first']];

export const materialsView = learnerPage({
  tab: 'Materials',
  title: ({ email }) => `Materials of ${email}`,
  ask: async ({ path, ids: [id = ''], params }) => {
    keepFilters(`#/${path}`, params);
    /** @type {Variables<'MATERIALS'>} */
    const asked = {
      id,
      after: params.get('after'),
      query: params.get('q') ?? '',
      // The gateway refuses other values.
      type: /** @type {MaterialRow['type'] | null} */ (params.get('type') || null),
      // A search has an order of its own.
      order: params.get('q')
        ? null
        : /** @type {NonNullable<Variables<'MATERIALS'>['order']> | null} */ (params.get('order') || null),
      labels: params.getAll('label'),
      ...(STATES[params.get('state') ?? ''] ?? STATES.active),
    };
    return (await request('MATERIALS', asked)).user;
  },
  above: filters,
  show: page,
  missing: 'The materials are not available.',
});

/** @param {Context} context @param {User} user @param {Materials} data */
function page(context, user, { materialCounts, materials: { nodes, pageInfo } }) {
  if (nodes.length === 0) return nothing(context.route);
  return h(
    'section',
    { class: 'card' },
    muted(`${totals(materialCounts)} `, h('a', { href: `#/users/${user.id}/labels` }, 'Counts by label')),
    context.mayChange && bulkActions(context, user, nodes),
    list(context, user, nodes),
    pager(pageInfo, context.route),
  );
}

/** @param {Materials['materialCounts']} counts */
const totals = ({ active, due, leeches, archived }) =>
  `${counted(active, 'active material')}, ${whole(due)} of them due now, ${whole(leeches)} forgotten again and again (leeches); ${whole(archived)} archived.`;

/** @param {Context} context @param {User} user @param {readonly MaterialRow[]} materials */
function list(context, user, materials) {
  return table(
    'Materials',
    ['Title', 'Type', 'Due', 'Interval', 'Ease', 'Last reviewed'],
    materials.map((material) => [
      [
        context.mayChange && selectBox(material),
        materialLink(user.id, material.id, material.title),
        material.isLeech && [' ', leechBadge()],
        labelLinks(user.id, material.labels),
      ],
      spoken(material.type),
      dueOf(material, user),
      span(material.interval),
      material.ef.toFixed(2),
      instant(material.lastReviewed, user.timeZone),
    ]),
    'stacks',
    context.mayChange && materials.map((material) => materialActions(context, user, material)),
  );
}

/** @param {MaterialRow} material @param {User} user */
function dueOf({ archivedAt, isDue, nextReview }, user) {
  if (archivedAt !== null) return h('span', { class: 'badge' }, 'archived');
  const title = instant(nextReview, user.timeZone);
  if (isDue) return h('span', { class: 'badge due', title }, 'due now');
  return h('span', { title }, nextReview === null ? '–' : distance(nextReview, nowOf(user)));
}

/** @param {Route} route */
function filters({ path, ids: [id = ''], params }) {
  const label = filterInput(params, 'label', { list: 'labels' });
  label.addEventListener('focus', () => void attempt(() => offerLabels(id, label)));
  return filterForm(
    `#/${path}`,
    'card bar',
    field('Title, content or source', filterInput(params, 'q')),
    field('Label', label),
    h('datalist', { id: 'labels' }),
    field('State', select('state', STATE_NAMES, params.get('state') ?? 'active')),
    field('Type', select('type', TYPE_NAMES, params.get('type') ?? '')),
    field('Sort', select('order', params.get('q') ? ORDER_OF_SEARCH : ORDERS, params.get('order') ?? '')),
    h('button', { type: 'submit', class: 'primary' }, 'Search'),
  );
}

/** Fills the list of labels, once it is needed: counting labels reads all materials. @param {string} id @param {HTMLInputElement} input */
async function offerLabels(id, input) {
  const { user } = await request('LABELS', { id });
  const options = (user?.labels ?? []).map(({ label, active, due }) =>
    h('option', { value: label }, `${whole(active)}, ${whole(due)} due`),
  );
  // Another learner may be shown by now, with a list of their own.
  input.list?.replaceChildren(...options);
}

/** @param {Route} route */
function nothing(route) {
  const { path, params } = route;
  if (params.size === 0)
    return empty('This learner has no active materials.', 'Materials are created through the API.');
  const all = h('a', { href: `#/${path}` }, 'Show all active materials');
  return nothingLeft(route) ?? empty('No material matches.', all);
}
