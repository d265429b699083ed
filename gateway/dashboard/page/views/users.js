// Finds learners by e-mail address, or lists all of them.
/** @import { Context, View } from '../types.d.ts' */

import { field } from '../actions/dialog.js';
import { request } from '../api.js';
import { h } from '../dom.js';
import { instant } from '../format.js';
import { empty, explain, pager, table } from '../ui.js';

/** @param {Context} context @returns {Promise<View>} */
export async function usersView({ route: { params } }) {
  const { users } = await request('USERS', { after: params.get('after') });
  const rows = users.nodes.map((user) => [
    h('a', { href: `#/users/${user.id}` }, user.email),
    [user.firstName, user.lastName].filter(Boolean).join(' ') || '–',
    user.plan.toLowerCase(),
    user.timeZone,
    instant(user.createdAt, user.timeZone),
  ]);
  return {
    title: 'Learners',
    content: [
      h('h1', { tabindex: '-1' }, 'Learners'),
      finder(),
      rows.length > 0
        ? h(
            'section',
            { class: 'card' },
            h('h2', {}, 'All, newest first'),
            table('Learners', ['E-mail', 'Name', 'Plan', 'Time zone', 'Since'], rows, 'stacks'),
            pager(users.pageInfo, params, (next) => `#/?${next}`),
          )
        : empty('There are no learners yet.', [
            'Create some: ',
            h('code', {}, 'npm run seed -- --users 20 --materials 200'),
          ]),
    ],
  };
}

function finder() {
  const input = h('input', {
    type: 'email',
    name: 'email',
    id: 'find-email',
    required: true,
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: 'learner@example.com',
  });
  const answer = h('p', { class: 'problem', role: 'alert' });
  const form = h(
    'form',
    { class: 'card bar', role: 'search' },
    field('Find by e-mail address', input),
    h('button', { type: 'submit', class: 'primary' }, 'Find'),
    answer,
  );
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    answer.textContent = '';
    try {
      const { user } = await request('FIND_USER', { email: input.value.trim() });
      if (user) location.hash = `#/users/${user.id}`;
      else answer.textContent = 'There is no learner with this address. Check the spelling.';
    } catch (error) {
      answer.textContent = explain(error);
    }
  });
  return form;
}
