// By what a learner's reminders come: e-mail, push subscriptions, the calendar.
/** @import { Context, ReminderChannel, Reminders, User } from '../types.d.ts' */

import {
  askDeleteFeed,
  askDeletePush,
  askNewFeed,
  askSwitchEmailOn,
  switchEmailOff,
} from '../actions/channel-actions.js';
import { sendTest } from '../actions/send-test.js';
import { instant } from '../format.js';
import { CHANNELS, emailState } from '../reminder-words.js';
import { actions, button, card, table } from '../ui.js';

/** @param {Context} context @param {User} user @param {Reminders} data @param {boolean} isPushSetUp */
export function channelCards(context, user, data, isPushSetUp) {
  const push = pushCard(context, user, data, isPushSetUp);
  push.classList.add('wide');
  return [emailCard(context, user, data), calendarCard(context, user, data), push];
}

/** @param {Context} context @param {User} user @param {Reminders} data */
function emailCard(context, user, { emailReminders }) {
  const { enabled } = emailReminders;
  const toggle = enabled
    ? button('Switch e-mail off', () => switchEmailOff(context, user), { id: 'switch-email' })
    : button('Switch e-mail on', () => askSwitchEmailOn(context, user, emailReminders), {
        id: 'switch-email',
      });
  return card(
    'E-mail',
    emailState(emailReminders, user.timeZone),
    context.mayChange && actions(toggle, enabled && testButton(context, user, 'EMAIL', [])),
  );
}

/** @param {Context} context @param {User} user @param {Reminders} data @param {boolean} isPushSetUp */
function pushCard(context, user, { pushSubscriptions }, isPushSetUp) {
  const notSetUp = !isPushSetUp && 'Push is not set up on this server.';
  if (pushSubscriptions.length === 0) {
    const none = 'No browser takes push messages. The learner can allow them in the learning app.';
    return card('Push', notSetUp || none);
  }
  const rows = pushSubscriptions.map(({ host, createdAt }) => [host, instant(createdAt, user.timeZone)]);
  const removals = pushSubscriptions.map((subscription, index) => {
    const about = { class: 'danger', 'aria-label': `Delete ${rows[index]?.join(', ')}` };
    const remove = button('Delete', () => askDeletePush(context, user, subscription), about);
    return actions(remove);
  });
  return card(
    'Push',
    notSetUp,
    table('Push subscriptions', ['Push service', 'Since'], rows, 'stacks', context.mayChange && removals),
    context.mayChange && isPushSetUp && actions(testButton(context, user, 'PUSH', pushSubscriptions)),
  );
}

/** @param {Context} context @param {User} user @param {Reminders} data */
function calendarCard(context, user, { calendarFeed }) {
  const state =
    calendarFeed === null
      ? 'There is no calendar address.'
      : `There is an address, made ${instant(calendarFeed.createdAt, user.timeZone)}.`;
  return card(
    'Calendar',
    state,
    context.mayChange &&
      actions(
        button('New address', () => askNewFeed(context, user, calendarFeed !== null), { id: 'new-feed' }),
        calendarFeed &&
          button('End the address', () => askDeleteFeed(context, user), { class: 'danger', id: 'end-feed' }),
      ),
  );
}

/** It does not wait: the dialog of a test can be closed before the test has ended. @param {Context} context @param {User} user @param {ReminderChannel} channel @param {Reminders['pushSubscriptions']} subscriptions */
const testButton = (context, user, channel, subscriptions) =>
  button('Send a test', () => void sendTest(context, user, channel, subscriptions), {
    'aria-label': `Send a test by ${CHANNELS[channel]}`,
    id: `test-${channel}`,
  });
