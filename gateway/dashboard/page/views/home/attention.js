// Who needs attention: the card of the home, and the lists of keys that end soon, of ended keys that are still sent, and of e-mail
// switched off.
/** @import { AllLearners, ApiKey, Child, User } from '../../types.d.ts' */
import { askSwitchRefusedOn } from '../../actions/channel-actions.js';
import { FailedCallError, request } from '../../api.js';
import { h } from '../../dom.js';
import { counted, distance, instant, isVisible, whole } from '../../format.js';
import { OFF_REASONS } from '../../reminder-words.js';
import { button, card, explain, learnerLink, requestIdOf, shortId } from '../../ui.js';
import { listView } from './list-view.js';

/** How many there are; or the error, which leaves the rest of the home usable. @param {'REFUSED_KEYS' | 'EXPIRING_KEYS' | 'EMAIL_OFF'} name */
const countOf = (name) =>
  request(name, { first: 1 }).then(
    ({ list }) => list.totalCount,
    (error) => {
      if (error instanceof FailedCallError) return error;
      throw error;
    },
  );

/** What accounts and reminders know of who needs attention. */
export const askAttention = () =>
  Promise.all([countOf('REFUSED_KEYS'), countOf('EXPIRING_KEYS'), countOf('EMAIL_OFF')]);

/** @param {AllLearners | null} overview null: not available. @param {Awaited<ReturnType<typeof askAttention>>} counts */
export function attention(overview, [refusedKeys, expiringKeys, emailOff]) {
  return card(
    'Needs attention',
    h(
      'ul',
      { class: 'plain' },
      overview && [
        item(overview.backlogGrowing, '#/?filter=BACKLOG_GROWING', 'learner', 'with a growing backlog', [
          'At least 20 due, and half as many again as a week ago',
        ]),
        item(overview.streakBroken, '#/?filter=STREAK_BROKEN', 'learner', 'whose streak has just broken', [
          '7 days or more in a row, then none yesterday and today',
        ]),
        item(overview.wentQuiet, '#/?filter=WENT_QUIET', 'learner', 'who went quiet', [
          'Active before, none for 5 days: 10 reviews or more in 60 days, the last 5 to 29 days ago',
        ]),
      ],
      item(refusedKeys, '#/refused-keys', 'ended key', 'still in use', [
        'Revoked or expired, and refused in the last 7 days',
      ]),
      item(expiringKeys, '#/expiring-keys', 'key', 'about to end', ['Within 14 days: rotate them in time']),
      item(emailOff, '#/email-off', 'learner', 'with e-mail switched off', [
        'In the last 7 days: in the settings, by the link in a mail, or by the mail server',
      ]),
    ),
  );
}

/** Nothing for a part that is switched off. @param {number | FailedCallError} count @param {string} href @param {string} unit @param {string} what @param {Child} means */
function item(count, href, unit, what, means) {
  if (count instanceof FailedCallError && count.code === 'INVALID_REQUEST') return null;
  const name = count instanceof FailedCallError ? `? ${unit}s ${what}` : `${counted(count, unit)} ${what}`;
  const [head, tail] =
    count instanceof FailedCallError
      ? [name, [explain(count), requestIdOf(count)]]
      : [count === 0 ? name : h('a', { href }, name), means];
  return h('li', {}, head, h('br'), h('small', { class: 'muted' }, tail));
}

export const refusedKeysView = listView({
  title: 'Ended keys still in use',
  note: 'Keys that a program sent in the last 7 days, although they are revoked or expired. The program needs another key. Times are in UTC.',
  ask: (params) => request('REFUSED_KEYS', { after: params.get('after') }),
  columns: ['Learner', 'Key', 'Ended', 'Last refused', 'Minutes with refusals'],
  row: ({ apiKey, user }) => [
    ...keyCells(apiKey, user),
    instant(apiKey.revokedAt ?? apiKey.expiresAt, 'UTC'),
    lately(apiKey.lastRefusedAt),
    whole(apiKey.refusedMinutes),
  ],
  nothing: 'No ended key was sent in the last 7 days.',
});

export const expiringKeysView = listView({
  title: 'Keys about to end',
  note: 'Keys that end within 14 days. Rotate a key, and give its program the replacement before the end. Times are in UTC.',
  ask: (params) => request('EXPIRING_KEYS', { after: params.get('after') }),
  columns: ['Learner', 'Key', 'Ends', 'Last used'],
  row: ({ apiKey, user }) => [...keyCells(apiKey, user), lately(apiKey.expiresAt), lately(apiKey.lastUsedAt)],
  nothing: 'No key ends within 14 days.',
});

export const emailOffView = listView({
  title: 'E-mail switched off',
  note: 'Learners whose e-mail reminders were switched off in the last 7 days. Times are in UTC.',
  action: (context) =>
    context.mayChange &&
    button('Switch e-mail on for refused learners', () => askSwitchRefusedOn(context), {
      id: 'switch-refused-on',
    }),
  ask: (params) => request('EMAIL_OFF', { after: params.get('after') }),
  columns: ['Learner', 'Since', 'Why'],
  row: ({ userId, user, emailReminders: { offReason, offAt } }) => [
    learnerLink(`#/users/${userId}/reminders`, user?.email ?? userId, user),
    lately(offAt),
    offReason === null ? '–' : OFF_REASONS[offReason].replace(/^./, (first) => first.toUpperCase()),
  ],
  nothing: 'Nobody’s e-mail was switched off in the last 7 days.',
});

/** @param {Pick<ApiKey, 'id' | 'name' | 'prefix'>} key @param {Pick<User, 'id' | 'email' | 'sandbox'> | null} user @returns {Child[]} */
function keyCells({ id, name, prefix }, user) {
  const shown = isVisible(name) ? name : 'no name';
  return [
    user === null ? '–' : learnerLink(`#/users/${user.id}/keys`, user.email, user),
    [
      user === null ? shown : h('a', { href: `#/users/${user.id}/keys/${id}` }, shown),
      ' ',
      h('small', { class: 'muted mono' }, prefix === null ? '' : `${prefix}… `),
      shortId(id),
    ],
  ];
}

/** @param {string | null} time */
const lately = (time) => (time === null ? '–' : `${instant(time, 'UTC')} (${distance(time)})`);
