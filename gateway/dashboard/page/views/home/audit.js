// The audit: what was done to all learners, newest first, filtered by who, what and when.
/** @import { AuditEvent, Context, Data, Route, View } from '../../types.d.ts' */
import { FailedCallError, request } from '../../api.js';
import { h } from '../../dom.js';
import { field, select } from '../../fields.js';
import { filterForm, filterInput } from '../../filters.js';
import { instant, nextDay } from '../../format.js';
import { ifAnswered, missingPart } from '../../parts.js';
import { ACTIONS, actionName, actorName, wordsOf } from '../../timeline/words.js';
import { empty, learnerLink, muted, nothingLeft, pager, saveButtons, shortId, table } from '../../ui.js';

const BASE = '#/audit';

/** @param {Context} context @returns {Promise<View>} */
export async function auditView({ route, refresh }) {
  const { params } = route;
  const filter = filterOf(params);
  const answer = await ifAnswered(request('AUDIT', { ...filter, after: params.get('after') }));
  const shown =
    answer instanceof FailedCallError
      ? missingPart('The audit is not available.', answer, refresh, 'The other pages work.')
      : list(answer.audit, route);
  return {
    title: 'Audit',
    content: [
      h('h1', {}, 'Audit'),
      muted(
        'What was done to learners and their keys in the last 90 days. Times and days are in UTC. What was refused, and deletions of learners, are in the log of the gateway.',
      ),
      filters(params),
      shown,
      h('p', {}, h('a', { href: '#/' }, 'Back to all learners')),
    ],
  };
}

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

/** @param {Data<'AUDIT'>['audit']} audit @param {Route} route */
function list({ nodes, pageInfo }, route) {
  if (nodes.length === 0)
    return nothingLeft(route) ?? empty('There is no such event.', h('a', { href: BASE }, 'Show all events'));
  const set = Object.entries(filterOf(route.params)).flatMap(([name, value]) =>
    value ? [[name, value]] : [],
  );
  return [
    h(
      'section',
      { class: 'card', 'aria-label': 'Events' },
      table('Audit', ['Time', 'Learner', 'Event', 'By', 'Request'], nodes.map(row), 'stacks'),
      pager(pageInfo, route),
    ),
    saveButtons(
      set.length > 0 ? 'Save all of these:' : 'Save all:',
      '/exports/audit',
      new URLSearchParams(set),
      'audit',
    ),
  ];
}

/** @param {AuditEvent} node */
const row = ({ userId, user, event }) => [
  instant(event.at, 'UTC'),
  user === null ? shortId(userId) : learnerLink(`#/users/${userId}/timeline`, user.email, user),
  h('span', { class: 'break' }, user === null ? actionName(event.action ?? '') : wordsOf(user, event)),
  // By the name that the filter takes.
  h('a', { href: `${BASE}?${new URLSearchParams({ actor: event.actor ?? '' })}` }, actorName(event)),
  event.requestId && shortId(event.requestId, 'request ID'),
];
