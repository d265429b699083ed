// Labels: each is a link to the materials that have it, and is edited on a line of its own.
import { h } from './dom.js';
import { field } from './fields.js';

/** The address of a learner's active materials with a label. @param {string} userId @param {string} label @param {Record<string, string>} [filters] */
export const addressOfLabel = (userId, label, filters = {}) =>
  `#/users/${userId}/materials?${new URLSearchParams({ label, ...filters })}`;

/** @param {string} userId @param {readonly string[]} labels */
export const labelLinks = (userId, labels) =>
  labels.length > 0 &&
  h(
    'span',
    { class: 'badges' },
    labels.map((label) => h('a', { class: 'badge label', href: addressOfLabel(userId, label) }, label)),
  );

/** @param {readonly string[]} labels @param {string} help */
export const labelsField = (labels, help) =>
  field('Labels, one a line', h('textarea', { name: 'labels', rows: '4' }, labels.join('\n')), help);

/** The labels that were entered, without blanks around them. @param {FormData} data */
export const readLabels = (data) =>
  String(data.get('labels'))
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
