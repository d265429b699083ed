// All learners, newest first.
/** @import { Context, View } from '../../types.d.ts' */

import { addButton } from '../../actions/profile-actions.js';
import { request } from '../../api.js';
import { h } from '../../dom.js';
import { fullName, instant } from '../../format.js';
import { empty, learnerLink, nothingLeft, pager, table } from '../../ui.js';

/** @param {Context} context @returns {Promise<View>} */
export async function allLearnersView(context) {
  const { route } = context;
  const { users } = await request('USERS', { after: route.params.get('after') });
  const rows = users.nodes.map((user) => [
    learnerLink(`#/users/${user.id}`, user.email, user),
    fullName(user) || '–',
    user.plan.toLowerCase(),
    user.timeZone,
    instant(user.createdAt, user.timeZone),
  ]);
  return {
    title: 'All learners',
    content: [
      h('div', { class: 'heading' }, h('h1', {}, 'All learners'), context.mayChange && addButton(context)),
      rows.length > 0
        ? h(
            'section',
            { class: 'card' },
            h('h2', {}, 'All, newest first'),
            table('Learners', ['E-mail', 'Name', 'Plan', 'Time zone', 'Since'], rows, 'stacks'),
            pager(users.pageInfo, route),
          )
        : (nothingLeft(route) ??
          empty('There are no learners yet.', [
            'Create some: ',
            h('code', {}, 'npm run seed -- --users 20 --materials 200'),
          ])),
    ],
  };
}
