// Operator actions on reminders: add, edit, pause, resume, switch on and off, delete.
/** @import { Child, Context, Reminder, ReminderChannel, User, Variables, Weekday } from '../types.d.ts' */
import { FailedCallError, request } from '../api.js';
import { h } from '../dom.js';
import { checkboxes, choice, field, instantInput, numberInput, readInstant } from '../fields.js';
import { instant, nowOf, tomorrowOf } from '../format.js';
import { labelsField, readLabels } from '../labels.js';
import { CHANNELS, isPaused, nameOf, WEEKDAYS } from '../reminder-words.js';
import { act, actions, rowButtons } from '../ui.js';
import { ask } from './dialog.js';

/** @param {Context} context @param {User} user @param {Reminder} reminder */
export function reminderActions(context, user, reminder) {
  const name = nameOf(reminder);
  const button = rowButtons(name, reminder.id);
  const set = (
    /** @type {{ pausedUntil: null } | { enabled: boolean }} */ change,
    /** @type {string} */ done,
  ) => act(context, () => update(user, reminder, change, `${done}: ${name}`));
  return actions(
    button('Edit', 'edit', () => askEdit(context, user, reminder)),
    isPaused(reminder, nowOf(user))
      ? button('Resume', 'pause', () => set({ pausedUntil: null }, 'Resumed'))
      : button('Pause', 'pause', () => askPause(context, user, reminder)),
    reminder.enabled
      ? button('Switch off', 'switch', () => set({ enabled: false }, 'Switched off'))
      : button('Switch on', 'switch', () => set({ enabled: true }, 'Switched on')),
    button('Delete', 'delete', () => askDelete(context, user, reminder), { class: 'danger' }),
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
      const changes = changesOf(settings, reminder);
      if (Object.keys(changes).length === 0) return 'Nothing has changed.';
      return update(user, reminder, changes, `Saved: ${nameOf(settings)}`);
    },
  });
}

/**
 * What is new in `settings`.
 * @param {ReturnType<typeof readSettings>} settings
 * @param {Reminder} reminder
 * @returns {Partial<ReturnType<typeof readSettings>>}
 */
function changesOf(settings, reminder) {
  /** @type {Readonly<Record<string, unknown>>} */
  const before = reminder;
  return Object.fromEntries(
    Object.entries(settings).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]),
    ),
  );
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

const NEW = {
  time: '09:00',
  weekdays: WEEKDAYS.map(([weekday]) => weekday),
  channels: ['EMAIL'],
  minDue: 1,
  labels: [],
  onlyIfNotReviewedToday: false,
};

/** @param {User} user @param {Reminder | undefined} reminder undefined: a new one @returns {Child} */
function settingsFields({ timeZone }, reminder) {
  const { time, weekdays, channels, minDue, labels, onlyIfNotReviewedToday } = reminder ?? NEW;
  return [
    field(
      'Time',
      h('input', { type: 'time', name: 'time', value: time, required: true }),
      `In the time zone ${timeZone}`,
    ),
    checkboxes({
      legend: 'Days',
      name: 'weekday',
      chosen: weekdays,
      whenNone: 'Choose at least one day.',
      options: WEEKDAYS.map(([value, , text]) => [value, text]),
    }),
    checkboxes({
      legend: 'Channels',
      name: 'channel',
      chosen: channels,
      whenNone: 'Choose at least one channel.',
      options: Object.entries(CHANNELS),
    }),
    field(
      'Minimum due',
      numberInput('minDue', 1, 1000, { value: minDue, required: true }),
      'Nothing is sent if fewer reviews are due.',
    ),
    labelsField(
      labels,
      'Only materials with one of these, or one below it, count as due. Without any, all do.',
    ),
    choice('Only if not reviewed today', { name: 'onlyIfNotReviewedToday', checked: onlyIfNotReviewedToday }),
  ];
}

/** The settings that were entered. @param {FormData} data */
function readSettings(data) {
  return {
    time: String(data.get('time')).slice(0, 5),
    // The values of the checkboxes above.
    weekdays: /** @type {Weekday[]} */ (data.getAll('weekday')),
    channels: /** @type {ReminderChannel[]} */ (data.getAll('channel')),
    minDue: Number(data.get('minDue')),
    labels: readLabels(data),
    onlyIfNotReviewedToday: data.has('onlyIfNotReviewedToday'),
  };
}
