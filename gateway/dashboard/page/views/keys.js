// The list of a learner's API keys, without the keys themselves.
/** @import { ApiKey, ApiKeys, Child, Context, User } from '../types.d.ts' */

import { askCreate, isExpired, keyActions, nameOf } from '../actions/key-actions.js';
import { request } from '../api.js';
import { h } from '../dom.js';
import { DAY_MS, distance, instant } from '../format.js';
import { actions, button, empty, pager, shortId, table } from '../ui.js';
import { learnerPage } from './learner-page.js';

export const keysView = learnerPage({
  tab: 'Keys',
  title: ({ email }) => `Keys of ${email}`,
  ask: async ({ ids: [id = ''], params }) => (await request('KEYS', { id, after: params.get('after') })).user,
  show: keys,
  missing: 'The keys are not available.',
});

/** @param {Context} context @param {User} user @param {{ apiKeys: ApiKeys }} data */
function keys(context, user, { apiKeys: { nodes, pageInfo } }) {
  return [
    context.mayChange &&
      actions(button('Create a key', () => askCreate(context, user), { class: 'primary', id: 'create-key' })),
    nodes.length > 0
      ? h('section', { class: 'card' }, keyTable(context, user, nodes), pager(pageInfo, context.route))
      : empty('This learner has no API key.', context.mayChange && 'Create one to give an app access.'),
  ];
}

/** What there is to know of keys and, for operators, to do. @param {Context} context @param {User} user @param {readonly ApiKey[]} apiKeys */
export function keyTable(context, user, apiKeys) {
  const { timeZone } = user;
  return table(
    'API keys',
    ['Name', 'Scopes', 'Created', 'Last used', 'State'],
    apiKeys.map((key) => [
      [
        h(
          'a',
          { href: `#/users/${user.id}/keys/${key.id}` },
          key.revokedAt === null ? nameOf(key) : h('s', { class: 'muted' }, nameOf(key)),
        ),
        h('br'),
        h('small', { class: 'muted mono' }, key.prefix === null ? '' : `${key.prefix}… `),
        shortId(key.id),
      ],
      h(
        'span',
        { class: 'badges' },
        key.scopes.map((scope) => h('span', { class: 'badge' }, scope)),
      ),
      instant(key.createdAt, timeZone),
      key.lastUsedAt === null ? 'never' : instant(key.lastUsedAt, timeZone),
      [
        stateOf(key, timeZone),
        key.lastRefusedAt && [
          h('br'),
          h('small', {}, `last refused ${instant(key.lastRefusedAt, timeZone)}`),
        ],
        key.allowedAddresses.length > 0 && [
          h('br'),
          h('small', { class: 'muted' }, `from ${key.allowedAddresses.join(', ')}`),
        ],
      ],
    ]),
    'stacks',
    context.mayChange && apiKeys.map((key) => keyActions(context, user, key)),
  );
}

/** How long before its end a key is marked. */
const WARNED_DAYS = 14;

/** Whether the key works, and until when. @param {Pick<ApiKey, 'revokedAt' | 'expiresAt'>} key @param {string} timeZone @returns {Child} */
function stateOf(key, timeZone) {
  const { revokedAt, expiresAt } = key;
  if (revokedAt !== null) return h('span', { class: 'badge' }, `revoked ${instant(revokedAt, timeZone)}`);
  if (expiresAt === null) return 'valid';
  const end = instant(expiresAt, timeZone);
  if (isExpired(key)) return h('span', { class: 'badge' }, `expired ${end}`);
  if (Date.parse(expiresAt) - Date.now() > WARNED_DAYS * DAY_MS) return `valid until ${end}`;
  return [h('span', { class: 'badge due' }, `ends ${distance(expiresAt)}`), ' ', h('small', {}, end)];
}
