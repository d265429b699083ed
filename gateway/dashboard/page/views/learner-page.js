// The pages of a learner: whose they are, the navigation between them, and what each shows.
/** @import { Child, Context, User, View } from '../types.d.ts' */
import { clockButton } from '../actions/clock-actions.js';
import { FailedCallError, request } from '../api.js';
import { h } from '../dom.js';
import { withKeptFilters } from '../filters.js';
import { instant } from '../format.js';
import { ifAnswered, missingPart } from '../parts.js';
import { muted, notThere, sandboxBadge, shortId } from '../ui.js';

/** @typedef {User & { away?: FailedCallError }} Learner `away`: why the account is not known; the rest stands in for it. */

/**
 * A page of the learner whose ID is in the address.
 * @template T
 * @param {Context} context Whose `mayChange` ends while accounts is away.
 * @param {{
 *   tab: string,
 *   title: (learner: Learner, answer: T | undefined) => string,
 *   ask: (timeZone: string | null) => Promise<T | null>,
 *   above?: Child,
 *   show: (learner: Learner, answer: T) => Child,
 *   noun?: string,
 *   missing: string,
 *   works?: string,
 * }} page `ask`: for what is shown, in which time zone (null: the learner's own); resolves to null if there is no such `noun`.
 * `above`: stands between the navigation and what is shown. `missing` and `works`: what is said if a service does not answer.
 * @returns {Promise<View>}
 */
export async function learnerPage(
  context,
  { tab, title, ask, above, show, noun = 'learner', missing, works },
) {
  const { user, answer } = await askLearner(context, ask);
  if (user === null) return notThere('learner');
  if (answer === null) return notThere(noun);
  const isAway = answer instanceof FailedCallError;
  const shown = isAway ? missingPart(missing, answer, context.refresh, works) : show(user, answer);
  return {
    title: title(user, isAway ? undefined : answer),
    content: [userHeader(context, user, tab), above, shown],
  };
}

/**
 * Asks for a learner and, beside it, for what a page shows. While accounts is away, the learner is a stand-in, and nothing can be
 * changed: the learner’s timeline could not record it.
 * @template T
 * @param {Context} context Whose `mayChange` it ends then.
 * @param {(timeZone: string | null) => Promise<T>} ask In which time zone; null: the learner's own.
 * @returns {Promise<{ user: Learner | null, answer: T | FailedCallError }>} null: there is no such learner.
 */
async function askLearner(context, ask) {
  const [id = ''] = context.route.ids;
  const [account, answer] = await Promise.all([ifAnswered(request('USER', { id })), ifAnswered(ask(null))]);
  if (!(account instanceof FailedCallError)) return { user: account.user, answer };
  context.mayChange = false;
  return {
    user: { ...UNKNOWN, id, email: `Learner …${id.slice(-8)}`, away: account },
    answer: answer instanceof FailedCallError ? await ifAnswered(ask(UNKNOWN.timeZone)) : answer,
  };
}

/** @type {Omit<User, 'id' | 'email'>} */
const UNKNOWN = {
  firstName: null,
  lastName: null,
  plan: 'FREE',
  timeZone: 'UTC',
  createdAt: '',
  sandbox: false,
  testClock: null,
};

/** The navigation between a learner's pages; `current` is the open one. @param {Context} context @param {Learner} learner @param {string} current */
function userHeader(context, learner, current) {
  const { id, email, firstName, lastName, plan, timeZone, testClock, away } = learner;
  const name = [firstName, lastName].filter(Boolean).join(' ');
  const tabs = [
    ['Overview', ''],
    ['Materials', '/materials'],
    ['Keys', '/keys'],
    ['Reminders', '/reminders'],
    ['Timeline', '/timeline'],
    ['Profile', '/profile'],
  ];
  return [
    h('h1', {}, email, testClock && [' ', sandboxBadge()]),
    muted(
      name && [h('bdi', {}, name), ' · '],
      !away && `${plan.toLowerCase()} plan · `,
      `times in ${timeZone} · `,
      shortId(id),
    ),
    testClock &&
      muted(
        `A user to test with. Its clock says ${instant(testClock.now, timeZone)}. `,
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
    away && missingPart('The learner’s account is not available.', away, context.refresh, WITHOUT_ACCOUNT),
  ];
}

const WITHOUT_ACCOUNT =
  'E-mail address, name and time zone are missing. Times are in UTC, and nothing can be changed meanwhile.';
