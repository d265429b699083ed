// Catching up: spreads what is due over the coming days, after a preview of each day before and after.
/** @import { Context, Spread, SpreadOrder, User } from '../types.d.ts' */
import { request } from '../api.js';
import { beforeAndAfter, chart } from '../charts/charts.js';
import { figure, legend } from '../charts/figure.js';
import { h } from '../dom.js';
import { field, numberInput, select } from '../fields.js';
import { counted, day, longDay, whole } from '../format.js';
import { ask, showPreview } from './dialog.js';

const MAX_DAYS = 60;
const USUAL_DAYS = 7;
const MAX_PER_DAY = 10_000;
const ORDERS = [
  ['OLDEST', 'The longest overdue'],
  ['HARDEST', 'The hardest'],
];

/** @param {Context} context @param {User} user */
export function askCatchUp(context, user) {
  const days = numberInput('days', 1, MAX_DAYS, { value: USUAL_DAYS, required: true });
  const perDay = numberInput('perDay', 1, MAX_PER_DAY);
  const order = select('order', ORDERS, 'OLDEST');
  const preview = h('div', { 'aria-live': 'polite' });
  ask(context, {
    title: `Catch up: ${user.email}`,
    body: [
      'Moves the reviews that are due now to the days from tomorrow on. You can undo it in one step in the learner’s timeline.',
      field('Number of days', days),
      field(
        'Maximum reviews on one day (optional)',
        perDay,
        'Reviews already planned for a day count too. If not all reviews fit, the rest stays due today. Leave it empty to spread as evenly as possible.',
      ),
      field('Which reviews come first', order),
      preview,
    ],
    submit: 'Spread the reviews',
    onSubmit: async (data) => {
      const { snooze } = await spread(user, data, false);
      return snooze === null
        ? 'Nothing was moved: nothing is due, or no day has room.'
        : `Spread ${counted(snooze.materialCount, 'material')} over ${counted(snooze.spreadDays ?? 0, 'day')}`;
    },
  });
  showPreview(preview, [days, perDay, order], async (data) => picture(await spread(user, data, true)));
}

/** @param {User} user @param {FormData} data @param {boolean} dryRun */
async function spread(user, data, dryRun) {
  const perDay = data.get('perDay');
  const input = {
    userId: user.id,
    days: Number(data.get('days')),
    ...(perDay && { perDay: Number(perDay) }),
    order: /** @type {SpreadOrder} */ (data.get('order')),
    dryRun,
  };
  return (await request('SPREAD_BACKLOG', { input })).spreadBacklog;
}

/** @param {Spread} planned */
function picture({ days, left }) {
  const data = days.map(({ date, dueBefore, dueAfter }, index) => ({
    label: index === 0 ? 'Today' : day(date),
    title: longDay(date),
    before: dueBefore,
    after: dueAfter,
    text: `now ${counted(dueBefore, 'review')}, after spreading ${whole(dueAfter)}`,
  }));
  const most = Math.max(...days.map(({ dueAfter }) => dueAfter));
  // Only what is due already is moved.
  const later = (days[0]?.dueAfter ?? 0) - left;
  const coming = days.slice(1);
  const moved = coming.reduce((sum, { dueBefore, dueAfter }) => sum + dueAfter - dueBefore, 0);
  const effects = [
    `Moved to the coming days: ${counted(moved, 'review')}`,
    left > 0 && `Due now, but not moved: ${counted(left, 'review')}`,
    later > 0 && `Due later today, so not moved: ${counted(later, 'review')}`,
    `After spreading, no day has more than ${counted(most, 'review')}`,
  ];
  return figure({
    title: 'Reviews due on each day',
    note: `${effects.filter(Boolean).join('. ')}.`,
    columns: ['Day', 'Now', 'After spreading'],
    rows: days.map(({ date, dueBefore, dueAfter }) => [date, dueBefore, dueAfter]),
    drawing: () => chart('Reviews due on each day', beforeAndAfter(data, 'reviews due')),
    legend: legend([
      [h('span', { class: 'swatch' }), 'now (left bar)'],
      [h('span', { class: 'swatch swatch-after' }), 'after spreading (right bar)'],
    ]),
    nothing: days[0]?.dueBefore === 0 && 'Nothing is due.',
  });
}
