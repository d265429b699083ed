// A learner's reminders: when the next one comes, their settings, their channels, and what was sent.
/** @import { Channels } from '../reminder-words.js' */
/** @import { Context, Reminder, Reminders, User, View } from '../types.d.ts' */

import { askCreate, reminderActions } from '../actions/reminder-actions.js';
import { request } from '../api.js';
import { h } from '../dom.js';
import { distance, instant, nowOf } from '../format.js';
import { labelLinks } from '../labels.js';
import { CHANNELS, daysOf, isNextPaused, isPaused, nextReminder, openChannels } from '../reminder-words.js';
import { button, card, table } from '../ui.js';
import { learnerPage } from './learner-page.js';
import { channelCards } from './reminder-channels.js';
import { deliveriesCard } from './reminder-deliveries.js';

/** @param {Context} context @returns {Promise<View>} */
export function remindersView(context) {
  const { path, params } = context.route;
  const asked = { id: path[1] ?? '', after: params.get('after') };
  return learnerPage(context, {
    tab: 'Reminders',
    title: ({ email }) => `Reminders of ${email}`,
    ask: () => request('REMINDERS', asked),
    show: (user, { user: data, pushPublicKey }) =>
      data && reminders(context, user, data, pushPublicKey !== null),
    missing: 'The reminders service does not answer.',
    works: 'The other pages work.',
  });
}

/** @param {Context} context @param {User} user @param {Reminders} data @param {boolean} isPushSetUp */
function reminders(context, user, data, isPushSetUp) {
  const channels = { ...data, isPushSetUp };
  const { what, advice } = nextReminder(channels, user);
  return [
    h(
      'p',
      { id: 'next-reminder' },
      h('span', { class: 'strong' }, what),
      context.mayChange && advice && ` ${advice}`,
    ),
    context.mayChange &&
      h(
        'p',
        {},
        button('Add a reminder', () => askCreate(context, user), { class: 'primary', id: 'add-reminder' }),
      ),
    data.reminders.length > 0 && card('Reminders', list(context, user, channels)),
    h('div', { class: 'grid' }, channelCards(context, user, data, isPushSetUp)),
    deliveriesCard(context, user, data),
  ];
}

/** @param {Context} context @param {User} user @param {Channels} channels */
function list(context, user, channels) {
  const all = channels.reminders;
  const columns = [
    'Time',
    'Days',
    'Channels',
    'Minimum due',
    'Labels',
    'Only if not reviewed today',
    'Paused until',
    'Enabled',
    'Next',
  ];
  return table(
    'Reminders',
    columns,
    all.map((reminder) => [
      reminder.time,
      daysOf(reminder.weekdays),
      reminder.channels.map((channel) => CHANNELS[channel]).join(', '),
      reminder.minDue,
      labelLinks(user.id, reminder.labels) || 'all',
      reminder.onlyIfNotReviewedToday ? 'yes' : 'no',
      isPaused(reminder, nowOf(user)) ? instant(reminder.pausedUntil, user.timeZone) : '–',
      reminder.enabled ? 'yes' : 'no',
      nextOf(reminder, channels, user),
    ]),
    'stacks',
    context.mayChange && all.map((reminder) => reminderActions(context, user, reminder)),
  );
}

/** @param {Reminder} reminder @param {Channels} channels @param {User} user */
function nextOf(reminder, channels, user) {
  if (reminder.nextAt === null) return '–';
  if (openChannels(reminder, channels).length === 0) return 'no way to the learner';
  if (isNextPaused(reminder)) return 'after the pause';
  return `${instant(reminder.nextAt, user.timeZone)} (${distance(reminder.nextAt, nowOf(user))})`;
}
