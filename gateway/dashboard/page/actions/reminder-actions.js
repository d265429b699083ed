// Operator actions on reminders: add, edit, pause, resume, switch on and off, delete.
/** @import { Context, Reminder, User, Variables } from '../types.d.ts' */
import { FailedCallError, request } from '../api.js';
import { h } from '../dom.js';
import { field, instantInput, readInstant } from '../fields.js';
import { instant, nowOf, tomorrowOf } from '../format.js';
import { isPaused, nameOf } from '../reminder-words.js';
import { act, actions, button } from '../ui.js';
import { ask } from './dialog.js';
import { readSettings, settingsFields } from './reminder-form.js';

/** @param {Context} context @param {User} user @param {Reminder} reminder */
export function reminderActions(context, user, reminder) {
  const name = nameOf(reminder);
  const about = (/** @type {string} */ action, /** @type {string} */ what) => ({
    'aria-label': `${action} ${name}`,
    id: `${what}-${reminder.id}`,
  });
  const set = (
    /** @type {{ pausedUntil: null } | { enabled: boolean }} */ change,
    /** @type {string} */ done,
  ) => void act(context, () => update(user, reminder, change, `${done}: ${name}`));
  return actions(
    button('Edit', () => askEdit(context, user, reminder), about('Edit', 'edit')),
    isPaused(reminder, nowOf(user))
      ? button('Resume', () => set({ pausedUntil: null }, 'Resumed'), about('Resume', 'pause'))
      : button('Pause', () => askPause(context, user, reminder), about('Pause', 'pause')),
    reminder.enabled
      ? button('Switch off', () => set({ enabled: false }, 'Switched off'), about('Switch off', 'switch'))
      : button('Switch on', () => set({ enabled: true }, 'Switched on'), about('Switch on', 'switch')),
    button('Delete', () => askDelete(context, user, reminder), {
      class: 'danger',
      ...about('Delete', 'delete'),
    }),
  );
}

/**
 * @param {User} user
 * @param {Reminder} reminder
 * @param {Omit<Variables<'UPDATE_REMINDER'>['input'], 'userId' | 'reminderId'>} changes
 * @param {string} done What is announced.
 */
async function update(user, reminder, changes, done) {
  await request('UPDATE_REMINDER', { input: { userId: user.id, reminderId: reminder.id, ...changes } });
  return done;
}

/** @param {Context} context @param {User} user */
export function askCreate(context, user) {
  ask(context, {
    title: 'Add a reminder',
    body: settingsFields(user, undefined),
    submit: 'Add',
    onSubmit: async (data) => {
      const settings = readSettings(data);
      await request('CREATE_REMINDER', { input: { userId: user.id, ...settings } });
      return `Added: ${nameOf(settings)}`;
    },
  });
}

/** @param {Context} context @param {User} user @param {Reminder} reminder */
function askEdit(context, user, reminder) {
  ask(context, {
    title: 'Edit a reminder',
    body: settingsFields(user, reminder),
    submit: 'Save',
    onSubmit: async (data) => {
      const settings = readSettings(data);
      return update(user, reminder, settings, `Saved: ${nameOf(settings)}`);
    },
  });
}

/** @param {Context} context @param {User} user @param {Reminder} reminder */
function askPause(context, user, reminder) {
  const { timeZone } = user;
  const until = instantInput('until', { value: `${tomorrowOf(user)}T00:00`, required: true });
  ask(context, {
    title: 'Pause a reminder',
    body: [
      h('p', { class: 'strong' }, nameOf(reminder)),
      field('Paused until', until, `In the time zone ${timeZone}. It then goes on by itself.`),
    ],
    submit: 'Pause',
    onSubmit: async (data) => {
      const pausedUntil = readInstant(data.get('until'), timeZone);
      if (Date.parse(pausedUntil) <= nowOf(user))
        throw new FailedCallError('This time is past.', 'Choose a later one.');
      const done = `Paused until ${instant(pausedUntil, timeZone)}: ${nameOf(reminder)}`;
      return update(user, reminder, { pausedUntil }, done);
    },
  });
}

/** @param {Context} context @param {User} user @param {Reminder} reminder */
function askDelete(context, user, reminder) {
  ask(context, {
    title: 'Delete a reminder',
    body: `“${nameOf(reminder)}” no longer comes. What it has sent stays in the list. To stop it for a while, pause it or switch it off.`,
    submit: 'Delete permanently',
    isDangerous: true,
    onSubmit: async () => {
      await request('DELETE_REMINDER', { input: { userId: user.id, reminderId: reminder.id } });
      return `Deleted: ${nameOf(reminder)}`;
    },
  });
}
