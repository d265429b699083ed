// The latest deliveries of a learner's reminders, and what became of each.
/** @import { Context, Delivery, Reminders, User } from '../types.d.ts' */

import { h } from '../dom.js';
import { instant, longDay } from '../format.js';
import { addressOf, outcomeOf } from '../reminder-words.js';
import { card, empty, pager, table } from '../ui.js';

/** @param {Context} context @param {User} user @param {Reminders} data */
export function deliveriesCard({ route }, user, data) {
  const { nodes, pageInfo } = data.reminderDeliveries;
  if (nodes.length === 0)
    return card('Latest deliveries', empty('Nothing has been due to be sent in the last 90 days.'));
  const rows = nodes.map((delivery) => [
    longDay(delivery.localDate),
    timeOf(delivery, user.timeZone),
    addressOf(delivery, data.pushSubscriptions),
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
    {},
    h('summary', {}, h('bdi', {}, keptMessage.subject)),
    h('p', { class: 'prose' }, keptMessage.text),
  );

/** Of the turn that it was made for: the reminder may have another time by now. @param {Delivery} delivery @param {string} timeZone */
const timeOf = ({ isTest, dueAt }, timeZone) =>
  isTest ? 'test' : (instant(dueAt, timeZone).split(', ')[1] ?? '');
