// Moves the clock of a sandbox learner.
/** @import { Context, User } from '../types.d.ts' */
import { request } from '../api.js';
import { field, instantInput, readInstant } from '../fields.js';
import { instant, tomorrowOf } from '../format.js';
import { button } from '../ui.js';
import { ask } from './dialog.js';

/** @param {Context} context @param {User} user */
export const clockButton = (context, user) =>
  button('Move the clock', () => askMove(context, user), { id: 'move-clock' });

/** @param {Context} context @param {User} user */
function askMove(context, user) {
  const { id: userId, email, timeZone } = user;
  const time = instantInput('time', { value: `${tomorrowOf(user)}T09:00`, required: true });
  ask(context, {
    title: 'Move the clock',
    body: [
      'The clock only moves forward. What is due, statistics and reminders follow it. Messages of reminders in between are stored, not sent.',
      field('To', time, `In the time zone ${timeZone}.`),
    ],
    submit: 'Move',
    onSubmit: async (data) => {
      const input = { userId, time: readInstant(data.get('time'), timeZone) };
      const { testClock } = (await request('SET_CLOCK', { input })).setTestClock;
      return `It is ${instant(testClock.now, timeZone)} for ${email}`;
    },
  });
}
