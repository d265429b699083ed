// Operator actions on a learner’s account: add, change, export, delete.
/** @import { Child, Context, User, Variables } from '../types.d.ts' */
import { FailedCallError, request } from '../api.js';
import { h } from '../dom.js';
import { choice, field, select } from '../fields.js';
import { counted } from '../format.js';
import { announce, button, saveButton } from '../ui.js';
import { ask, submits } from './dialog.js';

/** @typedef {Pick<User, 'email' | 'firstName' | 'lastName' | 'plan' | 'timeZone'>} Profile */

/** @type {Profile} */
const NEW = { email: '', firstName: null, lastName: null, plan: 'FREE', timeZone: 'UTC' };

const PLANS = ['FREE', 'PREMIUM'].map((value) => [value, value.toLowerCase()]);

/** The fields of a profile. @param {Profile} profile @returns {Child[]} */
function fields({ email, firstName, lastName, plan, timeZone }) {
  const zones = h(
    'datalist',
    { id: 'time-zones' },
    Intl.supportedValuesOf('timeZone').map((value) => h('option', { value })),
  );
  const text = (/** @type {string} */ name, /** @type {string | null} */ value, attributes = {}) =>
    h('input', {
      name,
      id: `profile-${name}`,
      value,
      spellcheck: 'false',
      ...attributes,
    });
  return [
    field('E-mail address', text('email', email, { type: 'email', required: true, maxlength: '254' })),
    field('First name', text('firstName', firstName, { maxlength: '100' })),
    field('Last name', text('lastName', lastName, { maxlength: '100' })),
    field('Plan', select('plan', PLANS, plan)),
    field(
      'Time zone',
      text('timeZone', timeZone, { list: 'time-zones', required: true }),
      'Such as Europe/Berlin. Reminders, snoozes and statistics follow it.',
    ),
    zones,
  ];
}

/** @param {FormData} data */
function readProfile(data) {
  const text = (/** @type {string} */ name) => String(data.get(name)).trim();
  return {
    email: text('email'),
    firstName: text('firstName') || null,
    lastName: text('lastName') || null,
    // The value of an option.
    plan: /** @type {User['plan']} */ (data.get('plan')),
    timeZone: text('timeZone'),
  };
}

/** @param {Context} context */
function askAdd(context) {
  ask(context, {
    title: 'Add a learner',
    body: [
      fields(NEW),
      choice('Sandbox learner, for tests: you move its clock, and it is sent nothing', { name: 'sandbox' }),
    ],
    submit: 'Add',
    onSubmit: async (data) => {
      const input = { ...readProfile(data), sandbox: data.has('sandbox') };
      const { createUser } = await request('CREATE_USER', { input });
      location.hash = `#/users/${createUser.user.id}`;
      return `Added: ${createUser.user.email}`;
    },
  });
}

/** @param {Context} context */
export const addButton = (context) => button('Add a learner', () => askAdd(context), { id: 'add-learner' });

/** A form that changes the account; it sends only what is new. @param {Context} context @param {User} user */
export function profileForm(context, user) {
  const send = h('button', { type: 'submit', class: 'primary', id: 'save-profile' }, 'Save');
  const problem = h('p', { class: 'problem', role: 'alert' });
  const form = h(
    'form',
    { class: 'fields', 'aria-label': 'Profile', autocomplete: 'off' },
    fields(user),
    problem,
    h('div', {}, send),
  );
  submits(form, { send, problem }, async (data) => {
    const profile = readProfile(data);
    const names = /** @type {(keyof Profile)[]} */ (Object.keys(profile));
    const changes = Object.fromEntries(
      names.filter((name) => profile[name] !== user[name]).map((name) => [name, profile[name]]),
    );
    if (Object.keys(changes).length === 0) return announce('Nothing has changed.');
    /** @type {Variables<'UPDATE_USER'>['input']} */
    const input = { userId: user.id, ...changes };
    await request('UPDATE_USER', { input });
    // What is typed meanwhile is still to be sent.
    for (const input of form.querySelectorAll('input')) input.defaultValue = String(data.get(input.name));
    announce('Saved.');
    await context.refresh();
  });
  return form;
}

/** Save everything that is stored about a learner, or the materials as a collection. @param {User} user */
export function exportButtons({ id, email }) {
  const path = `/exports/users/${id}`;
  return [
    saveButton('Export', path, `${email}.json`, { id: 'export-user-json' }),
    saveButton('Materials as JSONL', `${path}?as=jsonl`, `${email}.jsonl`, { id: 'export-user-jsonl' }),
    saveButton('Materials as CSV', `${path}?as=csv`, `${email}.csv`, { id: 'export-user-csv' }),
  ];
}

/** @param {Context} context @param {User} user */
export function askDelete(context, user) {
  ask(context, {
    title: 'Delete the learner',
    body: [
      `Deletes ${user.email} with all keys, materials, reviews and reminders. Apps lose access immediately. This cannot be undone: export the data first if it may be needed.`,
      field(
        `Type the e-mail address to go on`,
        h('input', { name: 'email', required: true, spellcheck: 'false' }),
      ),
    ],
    submit: 'Delete for good',
    isDangerous: true,
    onSubmit: async (data) => {
      if (String(data.get('email')).trim().toLowerCase() !== user.email.toLowerCase())
        throw new FailedCallError('That is another address.', 'Nothing was deleted.');
      const { deleteUser } = await request('DELETE_USER', { input: { userId: user.id } });
      location.hash = '#/users';
      const { apiKeys, materials, reviews } = deleteUser;
      return `Deleted ${user.email}: ${counted(apiKeys, 'key')}, ${counted(materials, 'material')}, ${counted(reviews, 'review')}.`;
    },
  });
}
