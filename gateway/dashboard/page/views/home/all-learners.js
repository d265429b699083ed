// All learners, newest first.
import { addButton } from '../../actions/profile-actions.js';
import { request } from '../../api.js';
import { fullName, instant } from '../../format.js';
import { learnerLink } from '../../ui.js';
import { listView } from './list-view.js';

export const allLearnersView = listView({
  title: 'All learners',
  note: 'All, newest first',
  action: (context) => context.mayChange && addButton(context),
  ask: (params) => request('USERS', { after: params.get('after') }),
  columns: ['E-mail', 'Name', 'Plan', 'Time zone', 'Since'],
  row: (user) => [
    learnerLink(`#/users/${user.id}`, user.email, user),
    fullName(user) || '–',
    user.plan.toLowerCase(),
    user.timeZone,
    instant(user.createdAt, user.timeZone),
  ],
  nothing: 'There are no learners yet.',
});
