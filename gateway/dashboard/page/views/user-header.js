// What the pages of a learner begin with.
/** @import { User } from '../types.d.ts' */
import { h } from '../dom.js';
import { withKeptFilters } from '../filters.js';
import { shortId } from '../ui.js';

/** The navigation between a learner's pages; `current` is the open one. @param {User} user @param {string} current */
export function userHeader(user, current) {
  const name = [user.firstName, user.lastName].filter(Boolean).join(' ');
  const tabs = [
    ['Overview', ''],
    ['Materials', '/materials'],
    ['Keys', '/keys'],
    ['Reminders', '/reminders'],
    ['Timeline', '/timeline'],
  ];
  return [
    h('h1', { tabindex: '-1' }, user.email),
    h(
      'p',
      { class: 'muted' },
      name && [h('bdi', {}, name), ' · '],
      `${user.plan.toLowerCase()} plan · times in ${user.timeZone} · `,
      shortId(user.id),
    ),
    h(
      'nav',
      { class: 'tabs', 'aria-label': 'Pages for this learner' },
      tabs.map(([label = '', path]) =>
        h(
          'a',
          { href: withKeptFilters(`#/users/${user.id}${path}`), 'aria-current': label === current && 'page' },
          label,
        ),
      ),
    ),
  ];
}
