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

/** The labels that were entered, without blanks around them unless they were there before. @param {FormData} data @param {readonly string[]} before */
export const readLabels = (data, before) =>
  String(data.get('labels'))
    .split(/\r?\n/)
    .map((line) => (before.includes(line) ? line : line.trim()))
    .filter((line) => line !== '');

/**
 * The labels to save: those of `now`, which others may have changed since the form showed `before`, with what was added in the form
 * and without what was removed in it.
 * @param {string[]} entered
 * @param {readonly string[]} before
 * @param {readonly string[]} now
 */
export function mergedLabels(entered, before, now) {
  if (now.join('\n') === before.join('\n')) return entered;
  const kept = now.filter((label) => entered.includes(label) || !before.includes(label));
  return [...new Set([...kept, ...entered.filter((label) => !before.includes(label))])];
}
