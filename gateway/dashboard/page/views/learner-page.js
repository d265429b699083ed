// The pages of a learner: whose they are, the navigation between them, and what each shows.
/** @import { Child, Context, Place, Route, User, View } from '../types.d.ts' */
import { clockButton } from '../actions/clock-actions.js';
import { FailedCallError, request } from '../api.js';
import { h } from '../dom.js';
import { withKeptFilters } from '../filters.js';
import { fullName, instant } from '../format.js';
import { ifAnswered, missingPart } from '../parts.js';
import { muted, notThere, sandboxBadge, shortId } from '../ui.js';

/**
 * A page of the learner whose ID is in the address.
 * @template T
 * @param {{
 *   tab: string,
 *   title: (learner: User, route: Route, answer: T | undefined) => string,
 *   ask: (route: Route, place: Place) => Promise<T | null>,
 *   above?: (route: Route) => Child,
 *   show: (context: Context, learner: User, answer: T) => Child,
 *   noun?: string,
 *   missing: string,
 * }} page `ask`: for what is shown; resolves to null if there is no such `noun`. `above`: stands between the navigation and what is
 * shown. `missing`: what is said if a service does not answer.
 * @returns {(context: Context) => Promise<View>}
 */
export function learnerPage({ tab, title, ask, above, show, noun = 'learner', missing }) {
  return async (context) => {
    const { route, place, refresh } = context;
    const [id = ''] = route.ids;
    const [{ user }, answer] = await Promise.all([request('USER', { id }), ifAnswered(ask(route, place))]);
    if (user === null) return notThere('learner');
    if (answer === null) return notThere(noun);
    const isAway = answer instanceof FailedCallError;
    const shown = isAway
      ? missingPart(missing, answer, refresh, 'The other pages work.')
      : show(context, user, answer);
    return {
      title: title(user, route, isAway ? undefined : answer),
      content: [userHeader(context, user, tab), above?.(route), shown],
    };
  };
}

/** The navigation between a learner's pages; `current` is the open one. @param {Context} context @param {User} learner @param {string} current */
function userHeader(context, learner, current) {
  const { id, email, plan, timeZone, sandbox, testClock } = learner;
  const name = fullName(learner);
  const tabs = [
    ['Overview', ''],
    ['Materials', '/materials'],
    ['Keys', '/keys'],
    ['Reminders', '/reminders'],
    ['Timeline', '/timeline'],
    ['Profile', '/profile'],
  ];
  return [
    h('h1', {}, email, sandbox && [' ', sandboxBadge()]),
    muted(
      name && [h('bdi', {}, name), ' · '],
      `${plan.toLowerCase()} plan · times in ${timeZone} · `,
      shortId(id),
    ),
    testClock &&
      muted(
        `A sandbox learner. Its clock says ${instant(testClock.now, timeZone)}. `,
        context.mayChange && clockButton(context, learner),
      ),
    h(
      'nav',
      { class: 'tabs', 'aria-label': 'Pages for this learner' },
      tabs.map(([label = '', path]) =>
        h(
          'a',
          { href: withKeptFilters(`#/users/${id}${path}`), 'aria-current': label === current && 'page' },
          label,
        ),
      ),
    ),
  ];
}
