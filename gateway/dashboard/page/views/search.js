// Search everything: learners by e-mail address, and whatever has an ID or is a key.
/** @import { Child, SearchHit } from '../types.d.ts' */
import { isExpired } from '../actions/key-actions.js';
import { request } from '../api.js';
import { byId, h } from '../dom.js';
import { fullName, instant, isVisible, titleOf } from '../format.js';
import { explain, sandboxBadge } from '../ui.js';

/** Long enough that a typed word is one search. */
const PAUSE_MS = 150;
/** As much of a key as the server keeps, wherever it stands: the rest of a pasted key never leaves the page. */
const BEGINNING_OF_KEY = /rmk_live_\w{0,8}/;
const HELP =
  'Search for a part of an e-mail address or name, an ID or its last 8 characters, a request ID, the first characters of a key, or a link to a page.';

/** The search field of the header, with its results below it. */
export function searchBox() {
  const input = h('input', {
    type: 'search',
    id: 'search',
    placeholder: 'Search: e-mail, name, ID, key, link',
    title: `${HELP} Press / to come here.`,
    'aria-label': 'Search everything',
    'aria-controls': 'search-results',
    'aria-keyshortcuts': '/',
    autocomplete: 'off',
    spellcheck: 'false',
  });
  const list = h('ul', { class: 'plain' });
  const status = h('p', { class: 'muted', role: 'status' });
  const pages = h('nav', { class: 'links', 'aria-label': 'Pages for the learner found' });
  const results = h('div', { id: 'search-results', hidden: true }, status, list, pages);
  const box = h('form', { class: 'search', role: 'search' }, input, results);
  let latest = 0;
  let shown = '';
  const close = () => {
    latest += 1;
    results.hidden = true;
    shown = '';
  };
  const find = async () => {
    latest += 1;
    const turn = latest;
    const text = input.value.trim();
    if (text === '') return close();
    if (results.hidden) {
      // Screen readers announce only changes of visible elements.
      status.textContent = 'Searching …';
      list.replaceChildren();
      pages.replaceChildren();
      results.hidden = false;
    }
    const answer = await request('SEARCH', { text }).catch((error) => explain(error));
    if (turn !== latest) return;
    const hits = typeof answer === 'string' ? [] : answer.search;
    status.textContent =
      typeof answer === 'string' ? answer : hits.length > 0 ? foundBy(hits) : `Nothing found. ${HELP}`;
    list.replaceChildren(...hits.map(hitItem));
    const [only, other] = hits;
    pages.replaceChildren(...(only && !other ? pagesOf(only) : []));
    // What failed or found nothing is asked again by Enter.
    shown = hits.length > 0 ? text : '';
  };
  let timer = 0;
  input.addEventListener('input', () => {
    const [beginning] = BEGINNING_OF_KEY.exec(input.value) ?? [];
    if (beginning !== undefined) input.value = beginning;
    clearTimeout(timer);
    timer = setTimeout(() => void find(), PAUSE_MS);
  });
  box.addEventListener('submit', async (event) => {
    event.preventDefault();
    clearTimeout(timer);
    const asked = input.value.trim();
    if (shown !== asked) await find();
    // The list may still hold what was found before: for another text, or before Esc.
    if (asked !== '' && shown === asked) list.querySelector('a')?.click();
  });
  box.addEventListener('keydown', (event) => moveWithin(event, [input, ...list.querySelectorAll('a')]));
  box.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape' || results.hidden) return;
    input.focus();
    close();
  });
  box.addEventListener('focusout', ({ relatedTarget }) => {
    if (!(relatedTarget instanceof Node && box.contains(relatedTarget))) close();
  });
  // Safari does not focus a link that is pressed: the list would be closed, as by a press elsewhere, before the click.
  results.addEventListener('mousedown', (event) => event.preventDefault());
  results.addEventListener('click', ({ target, ctrlKey, metaKey, shiftKey }) => {
    if (!(target instanceof Element && target.closest('a')) || ctrlKey || metaKey || shiftKey) return;
    input.value = '';
    input.blur();
    close();
  });
  return box;
}

/** @param {readonly SearchHit[]} hits */
const foundBy = ({ length }) => (length === 10 ? 'The first 10 found:' : `${length} found:`);

/** Links to the pages that support needs most. @param {SearchHit} hit */
function pagesOf({ user }) {
  const pages = ['Materials', 'Keys', 'Reminders', 'Timeline', 'Profile'];
  return pages.map((page) => h('a', { href: `#/users/${user.id}/${page.toLowerCase()}` }, page));
}

/** @param {SearchHit} hit */
function hitItem({ user, apiKey, material, event, refused }) {
  const base = `#/users/${user.id}`;
  if (event !== null) {
    const what = event.action ?? event.kind.toLowerCase();
    // Many reviews may have come since.
    const href = `${base}/timeline?kind=${event.kind}`;
    return item(href, user, `${what}, ${instant(event.at, user.timeZone)}`);
  }
  if (apiKey !== null) {
    const href = `${base}/keys/${apiKey.id}`;
    const state = apiKey.revokedAt !== null ? 'revoked key' : isExpired(apiKey) ? 'expired key' : 'key';
    if (refused !== null) {
      const name = isVisible(apiKey.name) ? `“${apiKey.name}”` : (apiKey.prefix ?? 'without a name');
      const { at, route, status, field } = refused;
      const what = `${route} with ${state} ${name} refused ${instant(at, user.timeZone)}: ${status}${field ? `, ${field}` : ''}`;
      return item(href, user, what);
    }
    const name = [apiKey.prefix && `${apiKey.prefix}…`, isVisible(apiKey.name) && `“${apiKey.name}”`]
      .filter(Boolean)
      .join(' ');
    return item(href, user, `${state} ${name}`);
  }
  return material === null
    ? item(base, user, ['learner ', h('bdi', {}, fullName(user))])
    : item(`${base}/materials/${material.id}`, user, `material “${titleOf(material.title)}”`);
}

/** @param {string} href @param {SearchHit['user']} user @param {Child} what */
const item = (href, { email, sandbox }, what) =>
  h(
    'li',
    {},
    h(
      'a',
      { href },
      h('span', {}, email, sandbox && [' ', sandboxBadge()]),
      ' ',
      h('small', { class: 'muted' }, what),
    ),
  );

/** The arrow keys go from the field to the results and back. @param {KeyboardEvent} event @param {readonly HTMLElement[]} all */
function moveWithin(event, all) {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  const at = all.findIndex((element) => element.matches(':focus'));
  event.preventDefault();
  all[event.key === 'ArrowDown' ? at + 1 : Math.max(at - 1, 0)]?.focus();
}

/** The key / goes to the search, unless the user is typing. @param {KeyboardEvent} event */
export function focusSearch(event) {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target instanceof Element && event.target.matches('input, select, textarea')) return;
  if (document.querySelector('dialog[open], .login') !== null) return;
  event.preventDefault();
  byId('search').focus();
}
