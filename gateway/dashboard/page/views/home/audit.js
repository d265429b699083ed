// The audit: what was done to all learners, newest first, filtered by who, what and when.
import { request } from '../../api.js';
import { h } from '../../dom.js';
import { field, select } from '../../fields.js';
import { filterForm, filterInput } from '../../filters.js';
import { instant, nextDay } from '../../format.js';
import { ACTIONS, actionName, actorName, wordsOf } from '../../timeline/words.js';
import { learnerLink, saveButtons, shortId } from '../../ui.js';
import { listView } from './list-view.js';

const BASE = '#/audit';

export const auditView = listView({
  title: 'Audit',
  note: 'What was done to learners and their keys in the last 90 days. Times and days are in UTC. What was refused, and deletions of learners, are in the log of the gateway.',
  filters,
  ask: (params) => request('AUDIT', { ...filterOf(params), after: params.get('after') }),
  columns: ['Time', 'Learner', 'Event', 'By', 'Request'],
  row: ({ userId, user, event }) => [
    instant(event.at, 'UTC'),
    user === null ? shortId(userId) : learnerLink(`#/users/${userId}/timeline`, user.email, user),
    h('span', { class: 'break' }, user === null ? actionName(event.action ?? '') : wordsOf(user, event)),
    // By the name that the filter takes.
    h('a', { href: `${BASE}?${new URLSearchParams({ actor: event.actor ?? '' })}` }, actorName(event)),
    event.requestId && shortId(event.requestId, 'request ID'),
  ],
  below: saveAll,
  nothing: 'There is no such event.',
});

/** What the address asks for. @param {URLSearchParams} params */
function filterOf(params) {
  const [from, to] = [params.get('from'), params.get('to')];
  return {
    actor: params.get('actor'),
    action: params.get('action'),
    since: from && `${from}T00:00:00Z`,
    until: to && `${nextDay(to, 1)}T00:00:00Z`,
  };
}

/** @param {URLSearchParams} params */
function filters(params) {
  const actions = ACTIONS.map((action) => [action, actionName(action)]);
  // The day after has a year of four digits too.
  const max = '9999-12-30';
  const day = (/** @type {string} */ name) => filterInput(params, name, { type: 'date', max });
  return filterForm(
    BASE,
    'card bar',
    field('By', filterInput(params, 'actor', { placeholder: 'olga', maxlength: '200' })),
    field('Action', select('action', [['', 'All'], ...actions], params.get('action') ?? '')),
    field('From', day('from')),
    field('To', day('to')),
    h('button', { type: 'submit', class: 'primary' }, 'Search'),
  );
}

/** @param {URLSearchParams} params */
function saveAll(params) {
  const set = Object.entries(filterOf(params)).flatMap(([name, value]) => (value ? [[name, value]] : []));
  const what = set.length > 0 ? 'Save all of these:' : 'Save all:';
  return saveButtons(what, '/exports/audit', new URLSearchParams(set), 'audit');
}
