// A learner's overview: five figures, six charts, and the hardest materials.
/** @import { Context, Overview, View } from '../types.d.ts' */
import { request } from '../api.js';
import { h } from '../dom.js';
import { counted, percent, whole } from '../format.js';
import { card, empty, table, userHeader } from '../ui.js';
import { notThere } from './not-there.js';
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

/** @param {Context} context @returns {Promise<View>} */
export async function overviewView({ route: { path } }) {
  const { user } = await request('OVERVIEW', { id: path[1] ?? '' });
  if (user === null) return notThere('learner');
  return {
    title: user.email,
    content: [
      userHeader(user, 'Overview'),
      tiles(user),
      h(
        'div',
        { class: 'grid' },
        ...[forecast(user), calendar(user), retentionByBand(user), retentionOverTime(user)],
        ...[easeFactors(user), intervals(user), hardest(user)],
      ),
    ],
  };
}

/** @param {Overview} user */
function tiles({ month, year }) {
  const { total } = month.retention;
  const { currentStreakDays, longestStreakDays, days } = year.activity;
  const tile = (/** @type {string} */ name, /** @type {string} */ value, /** @type {string} */ more) =>
    h(
      'div',
      { class: 'card tile' },
      h('dt', {}, name),
      h('dd', { class: 'figure-value' }, value),
      h('dd', { class: 'muted' }, more),
    );
  return h(
    'dl',
    { class: 'tiles' },
    tile('Due now', whole(month.forecast.dueNow), 'materials'),
    tile('Overdue', whole(month.forecast.overdue), 'due before today'),
    tile('Reviews today', whole(days.at(-1)?.count ?? 0), `${whole(days.at(-2)?.count ?? 0)} yesterday`),
    tile('Streak', counted(currentStreakDays, 'day'), `longest ${counted(longestStreakDays, 'day')}`),
    tile('Retention, 30 days', percent(total.retention), `of ${counted(total.reviews, 'review')}`),
  );
}

/** @param {Overview} user */
function hardest({ id, year }) {
  const { nodes } = year.hardestMaterials;
  if (nodes.length === 0)
    return card('Hardest materials', empty('No material has been reviewed three times yet.'));
  const rows = nodes.map(({ material, count }) => [
    h('a', { href: `#/users/${id}/materials/${material.id}` }, material.title),
    ...cells(count),
  ]);
  const section = card(
    'Hardest materials',
    table('Hardest materials', ['Material', ...RETENTION_COLUMNS], rows),
  );
  section.classList.add('wide');
  return section;
}
