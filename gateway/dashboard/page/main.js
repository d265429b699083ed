// Starts the page: routes the URL fragment to a view; without a valid token, every route shows the login.
/** @import { Caller, Context, Route, View } from './types.d.ts' */
import { request, token, UnauthorizedError } from './api.js';
import { drawCharts } from './charts/charts.js';
import { byId, h, nodesOf } from './dom.js';
import { button, failure, skeleton } from './ui.js';
import { keysView } from './views/keys.js';
import { loginView } from './views/login.js';
import { materialView } from './views/material.js';
import { materialsView } from './views/materials.js';
import { notThere } from './views/not-there.js';
import { overviewView } from './views/overview.js';
import { remindersView } from './views/reminders.js';
import { usersView } from './views/users.js';

/** The path that each view is at; * stands for an id. @type {Readonly<Record<string, (context: Context) => Promise<View>>>} */
const VIEWS = {
  '': usersView,
  'users/*': overviewView,
  'users/*/materials': materialsView,
  'users/*/materials/*': materialView,
  'users/*/keys': keysView,
  'users/*/reminders': remindersView,
};

const main = byId('main');
/** @type {Caller | undefined} */
let caller;
/** Of concurrent navigations, the latest is shown. */
let latestTurn = 0;
let shownPath = '';

/** @returns {Route} */
function currentRoute() {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  return { path: path.split('/').filter(Boolean), params: new URLSearchParams(query) };
}

/** @param {Route} route */
function viewAt({ path }) {
  return (
    VIEWS[path.map((part, index) => (index % 2 === 1 ? '*' : part)).join('/')] ??
    (async () => notThere('page'))
  );
}

async function show() {
  latestTurn += 1;
  const turn = latestTurn;
  if (token.get() === null) return showLogin(false);
  const route = currentRoute();
  const path = route.path.join('/');
  main.setAttribute('aria-busy', 'true');
  // A reload keeps the old page until the new data is there.
  if (path !== shownPath) main.replaceChildren(skeleton());
  try {
    caller ??= (await request('CALLER', {})).caller;
    showHeader(caller);
    const mayChange = caller.role === 'OPERATOR';
    const { title, content } = await viewAt(route)({ route, caller, mayChange, refresh: show });
    if (turn !== latestTurn) return;
    document.title = `${title} – Learning dashboard`;
    replaceMain(nodesOf(content), path);
  } catch (error) {
    if (turn !== latestTurn) return;
    if (error instanceof UnauthorizedError) showLogin(true);
    else replaceMain([failure(error, () => void show())], path);
  }
}

/** The focus stays on the same control of the same page, else it goes to the heading. @param {(Node | string)[]} nodes @param {string} path */
function replaceMain(nodes, path) {
  const focused = document.activeElement?.id;
  const isSame = path === shownPath;
  shownPath = path;
  main.removeAttribute('aria-busy');
  main.replaceChildren(...nodes);
  drawCharts();
  if (!isSame) scrollTo(0, 0);
  const heading = main.querySelector('h1') ?? main;
  const again = isSame && focused ? document.getElementById(focused) : null;
  if (document.querySelector('dialog[open]') === null) (again ?? heading).focus({ preventScroll: isSame });
}

/** @param {Caller} who */
function showHeader({ name, role }) {
  byId('header').replaceChildren(
    h('a', { href: '#/', class: 'brand' }, 'Learning dashboard'),
    h(
      'span',
      { class: 'muted', id: 'caller' },
      name === role.toLowerCase() ? name : `${name}, ${role.toLowerCase()}`,
    ),
    h('a', { href: '/', class: 'wide-only' }, 'GraphiQL'),
    button('Log out', () => {
      token.forget();
      location.hash = '#/';
      showLogin(false);
    }),
  );
}

/** Leaves the address as it is. @param {boolean} hasExpired */
function showLogin(hasExpired) {
  latestTurn += 1;
  token.forget();
  caller = undefined;
  shownPath = 'login';
  for (const dialog of document.querySelectorAll('dialog')) dialog.close();
  document.title = 'Log in – Learning dashboard';
  byId('header').replaceChildren();
  main.removeAttribute('aria-busy');
  main.replaceChildren(
    loginView(hasExpired, async () => {
      caller = (await request('CALLER', {})).caller;
      await show();
    }),
  );
  main.querySelector('input')?.focus();
}

addEventListener('hashchange', () => void show());
addEventListener('unauthorized', () => showLogin(true));
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawCharts);
void show();
