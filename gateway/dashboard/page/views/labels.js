// The labels of a learner's active materials, with how many have each and how many of these are due.
/** @import { LabelCount } from '../types.d.ts' */

import { request } from '../api.js';
import { h } from '../dom.js';
import { whole } from '../format.js';
import { addressOfLabel } from '../labels.js';
import { card, empty, muted, table } from '../ui.js';
import { learnerPage } from './learner-page.js';

export const labelsView = learnerPage({
  tab: 'Materials',
  title: ({ email }) => `Labels of ${email}`,
  ask: async ({ ids: [id = ''] }) => (await request('LABELS', { id })).user,
  show: (_context, { id }, { labels }) =>
    labels.length > 0
      ? card('Labels', counts(id, labels))
      : empty('No active material has a label.', 'An operator can give some on the page of a material.'),
  missing: 'The labels are not available.',
});

/** More rows would take the browser seconds. */
const SHOWN = 1000;

/** @param {string} id @param {readonly LabelCount[]} labels */
function counts(id, labels) {
  const due = (/** @type {LabelCount} */ { label, due }) =>
    due === 0 ? '0' : h('a', { href: addressOfLabel(id, label, { state: 'due' }) }, whole(due));
  return [
    muted('Each count includes the labels below: that of Spanish also counts Spanish/Verbs.'),
    table(
      'Labels',
      ['Label', 'Active materials', 'Due now'],
      labels
        .slice(0, SHOWN)
        .map((count) => [
          h('a', { href: addressOfLabel(id, count.label) }, count.label),
          whole(count.active),
          due(count),
        ]),
      'stacks',
    ),
    labels.length > SHOWN &&
      muted(`The first ${whole(SHOWN)} are shown. The filter of the materials offers more.`),
  ];
}
