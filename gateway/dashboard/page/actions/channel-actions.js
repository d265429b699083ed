// Operator actions on the channels of a learner's reminders. A new calendar address is shown once.
/** @import { Context, EmailReminders, PushSubscriptionRow, User } from '../types.d.ts' */
import { FailedCallError, request } from '../api.js';
import { h } from '../dom.js';
import { field, select } from '../fields.js';
import { counted, instant } from '../format.js';
import { act } from '../ui.js';
import { ask, showSecret } from './dialog.js';

/** @param {User} user @param {boolean} enabled */
async function setEmail(user, enabled) {
  await request('SET_EMAIL', { input: { userId: user.id, enabled } });
  return `E-mail is ${enabled ? 'on' : 'off'}.`;
}

/** @param {Context} context @param {User} user */
export const switchEmailOff = (context, user) => act(context, () => setEmail(user, false));

/** @type {Readonly<Record<NonNullable<EmailReminders['offReason']>, (user: User) => string>>} */
const BEFORE_ON = {
  SWITCHED_OFF: ({ email }) => `Reminders go to ${email} again.`,
  UNSUBSCRIBED: () => 'The learner unsubscribed. Switch e-mail on only if they ask for it.',
  // The refused messages may have gone to an earlier address of the learner.
  REFUSED: ({ email }) =>
    `The mail server refused three messages in a row. Reminders go to ${email} again: check this address first.`,
};

/** @param {Context} context @param {User} user @param {EmailReminders} email */
export function askSwitchEmailOn(context, user, { offReason }) {
  ask(context, {
    title: 'Switch e-mail on',
    body: BEFORE_ON[offReason ?? 'SWITCHED_OFF'](user),
    submit: 'Switch on',
    onSubmit: async () => {
      // Since the page was loaded, the learner may have unsubscribed.
      const { user: now } = await request('REMINDERS', { id: user.id });
      if (now?.emailReminders.offReason !== offReason)
        throw new FailedCallError('Why e-mail is off has changed.', 'Reload the page.');
      return setEmail(user, true);
    },
  });
}

const HOUR_MS = 3_600_000;
/** @type {readonly (readonly [hours: string, text: string])[]} */
const SINCE = [
  ['1', 'the last hour'],
  ['24', 'the last 24 hours'],
  ['168', 'the last 7 days'],
];

/** Of all learners. @param {Context} context */
export function askSwitchRefusedOn(context) {
  ask(context, {
    title: 'Switch e-mail on again',
    body: [
      'For every learner whose e-mail was switched off because the mail server refused three messages in a row. Use it if that was a mistake of the server, and it accepts messages again.',
      field('Switched off in', select('hours', SINCE, '24')),
    ],
    submit: 'Switch on',
    onSubmit: async (data) => {
      const offSince = new Date(Date.now() - Number(data.get('hours')) * HOUR_MS).toISOString();
      for (let learners = 0; ; ) {
        const { switchRefusedEmailOn } = await request('SWITCH_REFUSED_ON', { input: { offSince } });
        const { userIds, hasMore } = switchRefusedEmailOn;
        learners += userIds.length;
        if (!hasMore) return `E-mail is on again for ${counted(learners, 'learner')}.`;
      }
    },
  });
}

/** @param {Context} context @param {User} user @param {PushSubscriptionRow} subscription */
export function askDeletePush(context, user, { id, host, createdAt }) {
  ask(context, {
    title: 'Delete a push subscription',
    body: `The browser that was registered ${instant(createdAt, user.timeZone)} with ${host} gets no more reminders, until the learner allows them there again.`,
    submit: 'Delete',
    isDangerous: true,
    onSubmit: async () => {
      await request('DELETE_PUSH', { input: { userId: user.id, subscriptionId: id } });
      return `Deleted: ${host}`;
    },
  });
}

/** @param {Context} context @param {User} user @param {boolean} isReplaced Whether there is an address already. */
export function askNewFeed(context, user, isReplaced) {
  ask(context, {
    title: 'New calendar address',
    body: [
      `For ${user.email}, to subscribe to in a calendar program. The address is shown once, in the next step. Whoever has it can read how many reviews are due on each day.`,
      isReplaced && h('p', { class: 'strong' }, 'The present address stops working immediately.'),
    ],
    submit: 'Make the address',
    onSubmit: async () => {
      const { createCalendarFeed } = await request('CREATE_FEED', { input: { userId: user.id } });
      showSecret(context, {
        title: 'The new calendar address',
        label: 'Address',
        secret: createCalendarFeed.url,
        help: 'For "subscribe by URL" or the like. Calendar programs fetch it every few hours.',
      });
    },
  });
}

/** @param {Context} context @param {User} user */
export function askDeleteFeed(context, user) {
  ask(context, {
    title: 'End the calendar address',
    body: 'The address stops working immediately and permanently. Calendars no longer get updates.',
    submit: 'End it permanently',
    isDangerous: true,
    onSubmit: async () => {
      await request('DELETE_FEED', { input: { userId: user.id } });
      return 'The calendar address has ended.';
    },
  });
}
