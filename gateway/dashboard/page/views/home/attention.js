// Who needs attention: the card of the home, and the lists of keys that end soon, of ended keys that are still sent, and of e-mail
// switched off.
/** @import { AllLearners, ApiKey, Child, Context, PageInfo, Route, User, View } from '../../types.d.ts' */
import { askSwitchRefusedOn } from '../../actions/channel-actions.js';
import { FailedCallError, request } from '../../api.js';
import { h } from '../../dom.js';
import { counted, distance, instant, isVisible, whole } from '../../format.js';
import { ifAnswered, missingPart } from '../../parts.js';
import { OFF_REASONS } from '../../reminder-words.js';
import {
  actions,
  adviceOf,
  button,
  card,
  empty,
  learnerLink,
  muted,
  nothingLeft,
  pager,
  requestIdOf,
  shortId,
  table,
} from '../../ui.js';

/** How many there are; or the error, which leaves the rest of the home usable. @param {'REFUSED_KEYS' | 'EXPIRING_KEYS' | 'EMAIL_OFF'} name */
const countOf = (name) =>
  request(name, { first: 1, after: null }).then(
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
      ? [name, [`${count.message} ${adviceOf(count)}`, requestIdOf(count)]]
      : [count === 0 ? name : h('a', { href }, name), means];
  return h('li', {}, head, h('br'), h('small', { class: 'muted' }, tail));
}

/** @param {Context} context @returns {Promise<View>} */
export async function refusedKeysView({ route }) {
  const { list } = await request('REFUSED_KEYS', pageOf(route));
  const rows = list.nodes.map(({ apiKey, user }) => [
    ...keyCells(apiKey, user),
    instant(apiKey.revokedAt ?? apiKey.expiresAt, 'UTC'),
    lately(apiKey.lastRefusedAt),
    whole(apiKey.refusedMinutes),
  ]);
  return page('Ended keys still in use', {
    note: 'Keys that a program sent in the last 7 days, although they are revoked or expired. The program needs another key. Times are in UTC.',
    columns: ['Learner', 'Key', 'Ended', 'Last refused', 'Minutes with refusals'],
    rows,
    nothing: 'No ended key was sent in the last 7 days.',
    pageInfo: list.pageInfo,
    route,
  });
}

/** @param {Context} context @returns {Promise<View>} */
export async function expiringKeysView({ route }) {
  const { list } = await request('EXPIRING_KEYS', pageOf(route));
  const rows = list.nodes.map(({ apiKey, user }) => [
    ...keyCells(apiKey, user),
    lately(apiKey.expiresAt),
    lately(apiKey.lastUsedAt),
  ]);
  return page('Keys about to end', {
    note: 'Keys that end within 14 days. Rotate a key, and give its program the replacement before. Times are in UTC.',
    columns: ['Learner', 'Key', 'Ends', 'Last used'],
    rows,
    nothing: 'No key ends within 14 days.',
    pageInfo: list.pageInfo,
    route,
  });
}

/** @param {Pick<ApiKey, 'id' | 'name' | 'prefix'>} key @param {Pick<User, 'id' | 'email' | 'sandbox'> | null} user @returns {Child[]} */
const keyCells = ({ id, name, prefix }, user) => {
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
};

/** @param {Route} route */
const pageOf = ({ params }) => ({ first: 25, after: params.get('after') });

/** @param {Context} context @returns {Promise<View>} */
export async function emailOffView(context) {
  const answer = await ifAnswered(request('EMAIL_OFF', pageOf(context.route)));
  const title = 'E-mail switched off';
  if (answer instanceof FailedCallError)
    return framed(
      title,
      missingPart('The list is not available.', answer, context.refresh, 'The other pages work.'),
    );
  const { nodes, pageInfo } = answer.list;
  const rows = nodes.map(({ userId, user, emailReminders: { offReason, offAt } }) => [
    learnerLink(`#/users/${userId}/reminders`, user?.email ?? userId, user),
    lately(offAt),
    offReason === null ? '–' : OFF_REASONS[offReason].replace(/^./, (first) => first.toUpperCase()),
  ]);
  return page(title, {
    note: 'Learners whose e-mail reminders were switched off in the last 7 days. Times are in UTC.',
    above:
      context.mayChange &&
      actions(
        button('Switch on again those who were refused', () => askSwitchRefusedOn(context), {
          id: 'switch-refused-on',
        }),
      ),
    columns: ['Learner', 'Since', 'Why'],
    rows,
    nothing: 'Nobody’s e-mail was switched off in the last 7 days.',
    pageInfo,
    route: context.route,
  });
}

/** @param {string | null} time */
const lately = (time) => (time === null ? '–' : `${instant(time, 'UTC')} (${distance(time)})`);

/**
 * @param {string} title
 * @param {{ note: string, above?: Child, columns: string[], rows: Child[][], nothing: string, pageInfo: PageInfo, route: Route }} list
 * @returns {View}
 */
function page(title, { note, above, columns, rows, nothing, pageInfo, route }) {
  const shown =
    rows.length > 0
      ? [above, table(title, columns, rows, 'stacks'), pager(pageInfo, route)]
      : (nothingLeft(route) ?? empty(nothing));
  return framed(title, shown, note);
}

/** @param {string} title @param {Child} shown @param {string} [note] @returns {View} */
function framed(title, shown, note) {
  return {
    title,
    content: [
      h('h1', {}, title),
      note && muted(note),
      h('section', { class: 'card', 'aria-label': title }, shown),
      h('p', {}, h('a', { href: '#/' }, 'Back to all learners')),
    ],
  };
}
