// Starts the page: routes the URL fragment to a view; without a valid token, every route shows the login.
/** @import { Caller, Context, Place, Route, View } from './types.d.ts' */
import { bringBack, closeDialogs, putAway } from './actions/dialog.js';
import { request, UnauthorizedError } from './api.js';
import { drawCharts } from './charts/charts.js';
import { byId, h, nodesOf } from './dom.js';
import { keepTyped } from './filters.js';
import { session } from './login/session.js';
import { returnFromProvider } from './login/sign-in.js';
import { comeBack, placeHere } from './place.js';
import { timelineView } from './timeline/timeline.js';
import { button, failure, notThere, skeleton } from './ui.js';
import { dayView } from './views/day.js';
import { allLearnersView } from './views/home/all-learners.js';
import { emailOffView, expiringKeysView, refusedKeysView } from './views/home/attention.js';
import { auditView } from './views/home/audit.js';
import { homeView } from './views/home/home.js';
import { keyView } from './views/key.js';
import { keysView } from './views/keys.js';
import { labelsView } from './views/labels.js';
import { loginView } from './views/login.js';
import { materialView } from './views/material.js';
import { materialsView } from './views/materials.js';
import { overviewView } from './views/overview.js';
import { profileView } from './views/profile.js';
import { remindersView } from './views/reminders.js';
import { focusSearch, searchBox } from './views/search.js';

/** The pattern of each view's path; * stands for an ID. @type {ReadonlyMap<string, (context: Context) => Promise<View>>} */
const VIEWS = new Map([
  ['', homeView],
  ['refused-keys', refusedKeysView],
  ['expiring-keys', expiringKeysView],
  ['email-off', emailOffView],
  ['audit', auditView],
  ['users', allLearnersView],
  ['users/*', overviewView],
  ['users/*/days/*', dayView],
  ['users/*/materials', materialsView],
  ['users/*/materials/*', materialView],
  ['users/*/labels', labelsView],
  ['users/*/keys', keysView],
  ['users/*/keys/*', keyView],
  ['users/*/reminders', remindersView],
  ['users/*/timeline', timelineView],
  ['users/*/profile', profileView],
]);

const main = byId('main');
/** @type {Caller | undefined} */
let caller;
/** The dialogs that were open when the login expired, and the name of their person. @type {HTMLDialogElement[]} */
let kept = [];
let keptFor = '';
/** Of concurrent navigations, the latest is shown. */
let latestTurn = 0;
/** undefined: none yet. @type {string | undefined} */
let shownPath;
let shownAddress = '';

/** Every other part of an address is an ID. @returns {Route} */
function currentRoute() {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const parts = path.split('/').filter(Boolean);
  return {
    path: parts.join('/'),
    pattern: parts.map((part, index) => (index % 2 === 1 ? '*' : part)).join('/'),
    ids: parts.filter((_, index) => index % 2 === 1),
    params: new URLSearchParams(query),
  };
}

async function show() {
  latestTurn += 1;
  const turn = latestTurn;
  const place = placeHere();
  await session.found;
  if (turn !== latestTurn) return;
  // A login that is shown already may give a reason.
  if (session.token() === null) return document.querySelector('.login') ? undefined : showLogin('');
  const route = currentRoute();
  const { path, pattern } = route;
  main.setAttribute('aria-busy', 'true');
  // A reload keeps the old page until the new data is there.
  if (path !== shownPath) main.replaceChildren(skeleton());
  try {
    if (caller === undefined) {
      const answer = await request('CALLER', {});
      if (turn !== latestTurn) return;
      caller = answer.caller;
      enter(caller);
    }
    const mayChange = caller.role === 'OPERATOR';
    const view = VIEWS.get(pattern) ?? (async () => notThere('page'));
    const refresh = async () => {
      if (currentRoute().path === path) await show();
    };
    const context = { route, caller, mayChange, refresh, place };
    const { title, content } = await view(context);
    if (turn !== latestTurn) return;
    document.title = `${title} – Learning dashboard`;
    replaceMain(nodesOf(content), path, place);
  } catch (error) {
    if (turn !== latestTurn) return;
    if (error instanceof UnauthorizedError) showLogin(EXPIRED);
    else replaceMain([failure(error, show)], path);
  }
}

/**
 * The focus stays in the search and on the same control of the same page, else it goes to the heading.
 * @param {(Node | string)[]} nodes
 * @param {string} path
 * @param {Place} [place] Where to come back to; none for a failure.
 */
function replaceMain(nodes, path, place) {
  const focused = document.activeElement?.id;
  const isSame = path === shownPath;
  shownPath = path;
  const isSameList = shownAddress === location.hash;
  shownAddress = location.hash;
  main.removeAttribute('aria-busy');
  const putBack = isSame ? keepTyped() : undefined;
  main.replaceChildren(...nodes);
  putBack?.();
  drawCharts();
  const isBack = place !== undefined && comeBack(place);
  if (!isSame && !isBack) scrollTo(0, 0);
  const heading = main.querySelector('h1') ?? main;
  heading.tabIndex = -1;
  const again = isSame && focused ? document.getElementById(focused) : null;
  const isElsewhere = document.querySelector('dialog[open]') !== null || focused === 'search';
  if (!isElsewhere) (again ?? heading).focus({ preventScroll: isSame || isBack });
  // Another page of a list begins with its first row, and so does a filter that is chosen elsewhere on the page.
  if (isSame && !isSameList && !isBack && again === null)
    main.querySelector('.card:has(.bar, > .pager)')?.scrollIntoView();
}

/** Shows who is in, and brings back the dialogs that are theirs. @param {Caller} who */
function enter(who) {
  showHeader(who);
  if (who.name === keptFor) bringBack(kept);
  kept = [];
}

/** @param {Caller} who */
function showHeader({ name, role }) {
  byId('header').replaceChildren(
    h('a', { href: '#/', class: 'brand', id: 'brand' }, 'Learning dashboard'),
    searchBox(),
    h(
      'span',
      { class: 'muted', id: 'caller' },
      name === role.toLowerCase() ? name : `${name}, ${role.toLowerCase()}`,
    ),
    // In a new tab, since leaving the page loses a token of the OpenID provider, which is only in its memory.
    h('a', { href: '/', class: 'wide-only', target: '_blank' }, 'GraphiQL'),
    button('Log out', () => {
      session.end();
      location.hash = '#/';
      showLogin('');
    }),
  );
}

const EXPIRED = 'The login is no longer valid. Log in again to continue where you were.';

/** Leaves the address as it is. @param {string} reason Why the person is not in; empty at first. */
function showLogin(reason) {
  latestTurn += 1;
  if (reason === EXPIRED) session.expire();
  else session.forget();
  if (reason === EXPIRED && caller !== undefined) {
    keptFor = caller.name;
    kept = putAway();
  } else closeDialogs();
  caller = undefined;
  shownPath = 'login';
  document.title = 'Log in – Learning dashboard';
  byId('header').replaceChildren();
  main.removeAttribute('aria-busy');
  main.replaceChildren(
    loginView(reason, kept.length > 0, async () => {
      caller = (await request('CALLER', {})).caller;
      session.accept();
      enter(caller);
      await show();
    }),
  );
  main.querySelector('input')?.focus();
}

addEventListener('hashchange', () => {
  // An open dialog is about the page that is left.
  closeDialogs();
  kept = [];
  void show();
});
// A fragment would be taken for a route.
document.querySelector('.skip')?.addEventListener('click', (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener('unauthorized', () => showLogin(EXPIRED));
addEventListener('keydown', focusSearch);
session.on('login', () => void show());
session.on('logout', () => showLogin(''));
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawCharts);
void returnFromProvider().then(
  (token) => {
    if (token !== undefined) {
      session.use(token, true);
      // Until now it may have been that of another tab.
      caller = undefined;
      session.accept();
    }
    return show();
  },
  (error) => (session.token() === null ? showLogin(error.message) : show()),
);
