// A learner's reminders: when the next one comes, their settings, their channels, and what was sent.
/** @import { Channels } from '../reminder-words.js' */
/** @import { Context, Delivery, Reminder, Reminders, User } from '../types.d.ts' */

import { askCreate, reminderActions } from '../actions/reminder-actions.js';
import { request } from '../api.js';
import { h } from '../dom.js';
import { distance, instant, localOf, longDay, nowOf, timeOfDay } from '../format.js';
import { labelLinks } from '../labels.js';
import {
  addressOf,
  CHANNELS,
  daysOf,
  isNextPaused,
  isPaused,
  nextReminder,
  openChannels,
  outcomeOf,
} from '../reminder-words.js';
import { actions, button, card, empty, nothingLeft, pager, table } from '../ui.js';
import { learnerPage } from './learner-page.js';
import { channelCards } from './reminder-channels.js';

export const remindersView = learnerPage({
  tab: 'Reminders',
  title: ({ email }) => `Reminders of ${email}`,
  ask: ({ ids: [id = ''], params }) => request('REMINDERS', { id, after: params.get('after') }),
  show: (context, user, { user: data, pushPublicKey }) =>
    data && reminders(context, user, data, pushPublicKey !== null),
  missing: 'The reminders service does not answer.',
});

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
      actions(
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
  if (openChannels(reminder, channels).length === 0) return 'no channel available';
  if (isNextPaused(reminder)) return 'after the pause';
  return `${instant(reminder.nextAt, user.timeZone)} (${distance(reminder.nextAt, nowOf(user))})`;
}

/** @param {Context} context @param {User} user @param {Reminders} data */
function deliveriesCard({ route }, user, data) {
  const { nodes, pageInfo } = data.reminderDeliveries;
  if (nodes.length === 0) {
    const none = empty('Nothing has been due to be sent in the last 90 days.');
    return card('Latest deliveries', nothingLeft(route) ?? none);
  }
  const rows = nodes.map((delivery) => [
    longDay(delivery.localDate),
    timeOf(delivery, user.timeZone),
    addressOf(delivery, data.pushSubscriptions, 'a browser that was removed'),
    [
      outcomeOf(delivery, {
        reminder: data.reminders.find(({ id }) => id === delivery.reminderId),
        timeZone: user.timeZone,
      }),
      keptMessage(delivery),
    ],
  ]);
  return card(
    'Latest deliveries',
    table('Latest deliveries', ['Date', 'Reminder', 'Channel', 'Outcome'], rows, 'stacks'),
    pager(pageInfo, route),
  );
}

/** What would have been sent. @param {Delivery} delivery */
const keptMessage = ({ keptMessage }) =>
  keptMessage &&
  h(
    'details',
    { class: 'stack' },
    h('summary', {}, h('bdi', {}, keptMessage.subject)),
    h('p', { class: 'prose' }, keptMessage.text),
  );

/** Of the turn that it was made for: the reminder may have another time by now. @param {Delivery} delivery @param {string} timeZone */
function timeOf({ isTest, dueAt, localDate }, timeZone) {
  if (isTest) return 'test';
  // The learner may have another time zone by now, where it was another day.
  const isThatDay = localOf(Date.parse(dueAt), timeZone).startsWith(localDate);
  return isThatDay ? timeOfDay(dueAt, timeZone) : instant(dueAt, timeZone);
}
