// The materials of a learner, with search, filters and pages.
/** @import { Context, MaterialRow, User, Variables, View } from '../types.d.ts' */

import { field } from '../actions/dialog.js';
import { materialActions } from '../actions/material-actions.js';
import { request } from '../api.js';
import { h } from '../dom.js';
import { distance, instant, spoken } from '../format.js';
import { empty, pager, table, userHeader } from '../ui.js';
import { notThere } from './not-there.js';

/** @type {Readonly<Record<string, Partial<Variables<'MATERIALS'>>>>} */
const STATES = {
  active: { state: 'ACTIVE' },
  due: { state: 'ACTIVE', due: true },
  later: { state: 'ACTIVE', due: false },
  archived: { state: 'ARCHIVED' },
  any: { state: 'ANY' },
};
const STATE_NAMES = [
  ['active', 'Active'],
  ['due', 'Due now'],
  ['later', 'Not due yet'],
  ['archived', 'Archived'],
  ['any', 'All'],
];
const TYPE_NAMES = [
  ['', 'Any'],
  ...['SIMPLE', 'MATERIAL', 'FLASHCARD', 'CARD'].map((type) => [type, spoken(type)]),
];

/** @param {Context} context @returns {Promise<View>} */
export async function materialsView(context) {
  const { path, params } = context.route;
  const id = path[1] ?? '';
  const { user } = await request('MATERIALS', {
    ...{ id, after: params.get('after'), query: params.get('q') ?? '' },
    // The gateway refuses other values.
    type: /** @type {MaterialRow['type'] | null} */ (params.get('type') || null),
    ...(STATES[params.get('state') ?? ''] ?? STATES.active),
  });
  if (user === null) return notThere('learner');
  const base = `#/users/${id}/materials`;
  const { nodes, pageInfo } = user.materials;
  return {
    title: `Materials of ${user.email}`,
    content: [
      userHeader(user, 'Materials'),
      filters(base, params),
      nodes.length > 0
        ? h(
            'section',
            { class: 'card' },
            list(context, user, nodes),
            pager(pageInfo, params, (next) => `${base}?${next}`),
          )
        : nothing(base, params),
    ],
  };
}

/** @param {Context} context @param {User} user @param {readonly MaterialRow[]} materials */
function list(context, user, materials) {
  const columns = ['Title', 'Type', 'Due', 'Interval', 'Ease', 'Last reviewed'];
  return table(
    'Materials',
    context.mayChange ? [...columns, 'Actions'] : columns,
    materials.map((material) => {
      const cells = [
        h('a', { href: `#/users/${user.id}/materials/${material.id}` }, material.title),
        spoken(material.type),
        dueOf(material, user.timeZone),
        `${material.interval} d`,
        material.ef.toFixed(2),
        instant(material.lastReviewed, user.timeZone),
      ];
      return context.mayChange ? [...cells, materialActions(context, user, material)] : cells;
    }),
    'stacks',
  );
}

/** @param {MaterialRow} material @param {string} timeZone */
function dueOf({ archivedAt, isDue, nextReview }, timeZone) {
  if (archivedAt !== null) return h('span', { class: 'badge' }, 'archived');
  const title = instant(nextReview, timeZone);
  if (isDue) return h('span', { class: 'badge due', title }, 'due now');
  return h('span', { title }, nextReview === null ? '–' : distance(nextReview));
}

/** @param {string} base @param {URLSearchParams} params */
function filters(base, params) {
  const query = h('input', {
    type: 'search',
    name: 'q',
    id: 'filter-q',
    value: params.get('q') ?? '',
    autocomplete: 'off',
  });
  const form = h(
    'form',
    { class: 'card bar', role: 'search' },
    field('Title, content or source', query),
    field('State', choice('state', STATE_NAMES, params.get('state') ?? 'active')),
    field('Type', choice('type', TYPE_NAMES, params.get('type') ?? '')),
    h('button', { type: 'submit', class: 'primary' }, 'Search'),
  );
  const apply = () => {
    const chosen = [...new FormData(form)].map(([name, value]) => [name, String(value)]);
    location.hash = `${base}?${new URLSearchParams(chosen.filter(([, value]) => value !== ''))}`;
  };
  for (const select of form.querySelectorAll('select')) select.addEventListener('change', apply);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    apply();
  });
  return form;
}

/** @param {string} name @param {readonly (readonly string[])[]} options @param {string} chosen */
function choice(name, options, chosen) {
  return h(
    'select',
    { name, id: `filter-${name}` },
    options.map(([value, label]) => h('option', { value, selected: value === chosen }, label)),
  );
}

/** @param {string} base @param {URLSearchParams} params */
function nothing(base, params) {
  if (params.size === 0)
    return empty('This learner has no active materials.', 'Materials are created through the API.');
  return empty('No material matches.', h('a', { href: base }, 'Show all active materials'));
}
