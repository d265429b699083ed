// UI components that all pages share.
/** @import { Child, Context, PageInfo, Route, View } from './types.d.ts' */
import { download, FailedCallError, UnauthorizedError } from './api.js';
import { byId, h, paragraphs } from './dom.js';
import { titleOf } from './format.js';

let hidingTimer = 0;

/** Shows a short notice, which screen readers announce; one that comes again stays as long as the first. @param {string} text */
export function announce(text) {
  const status = byId('status');
  status.textContent = text;
  status.classList.add('shown');
  clearTimeout(hidingTimer);
  hidingTimer = setTimeout(() => status.classList.remove('shown'), 6000);
}

/** What went wrong with an action, and what to do. After a 401 main.js shows the login. @param {unknown} error */
export function explain(error) {
  if (error instanceof UnauthorizedError) {
    dispatchEvent(new Event('unauthorized'));
    return 'The login expired before this was done. Try again.';
  }
  return `${error instanceof Error ? error.message : String(error)} ${adviceOf(error)}`;
}

/** Does what a button says, and announces what goes wrong. @param {() => Promise<void>} work */
export async function attempt(work) {
  try {
    await work();
  } catch (error) {
    announce(explain(error));
  }
}

/** The same as attempt, which announces what was done and shows the page anew. @param {Context} context @param {() => Promise<string>} work Resolves to what was done. */
export const act = ({ refresh }, work) =>
  attempt(async () => {
    announce(await work());
    await refresh();
  });

/**
 * A button that ignores presses until what `onclick` returns has ended. It stays enabled, since a disabled one loses the focus.
 * @param {string} text
 * @param {() => unknown} onclick
 * @param {Record<string, unknown>} [attributes]
 */
export function button(text, onclick, attributes = {}) {
  let isAtWork = false;
  const press = async () => {
    if (isAtWork) return;
    isAtWork = true;
    try {
      await onclick();
    } finally {
      isAtWork = false;
    }
  };
  return h('button', { type: 'button', onclick: press, ...attributes }, text);
}

/**
 * Makes the buttons of one row, each called after what the row is about. A button that takes the place of another, such as Resume that
 * of Pause, has the same `what`, so that it keeps the focus.
 * @param {string} name
 * @param {string} id
 * @returns {(text: string, what: string, onclick: () => unknown, attributes?: Record<string, unknown>) => HTMLButtonElement}
 */
export const rowButtons =
  (name, id) =>
  (text, what, onclick, attributes = {}) =>
    button(text, onclick, { 'aria-label': `${text} ${name}`, id: `${what}-${id}`, ...attributes });

/** A button that saves what the gateway answers at a path as a file. @param {string} text @param {string} path @param {string} name Of the file. @param {Record<string, unknown>} attributes */
export const saveButton = (text, path, name, attributes) =>
  button(
    text,
    () =>
      attempt(async () => {
        announce('The file is being read …');
        await download(path, name);
        announce('Saved.');
      }),
    attributes,
  );

/** Buttons that save all of a list. @param {string} what In front of them. @param {string} path Without its ending. @param {URLSearchParams} query @param {string} name Of the file, without its ending. */
export const saveButtons = (what, path, query, name) =>
  h(
    'div',
    { class: 'actions baseline' },
    what,
    ['csv', 'jsonl'].map((format) =>
      saveButton(format.toUpperCase(), `${path}.${format}?${query}`, `${name}.${format}`, {
        'aria-label': `Save all as ${format.toUpperCase()}`,
        id: `save-${format}`,
      }),
    ),
  );

/** A paragraph of secondary text. @param {...Child} children */
export const muted = (...children) => h('p', { class: 'muted' }, children);

/** Buttons beside each other. @param {...Child} buttons */
export const actions = (...buttons) => h('div', { class: 'actions' }, buttons);

/**
 * An ID by its last characters, which differ even where IDs were made together. A click copies all of it.
 * @param {string} id
 * @param {string} [name] What it is.
 */
export function shortId(id, name = 'ID') {
  const short = `…${id.slice(-8)}`;
  return button(short, () => copy(id), {
    class: 'id mono',
    title: id,
    'aria-label': `Copy ${name} ${short}`,
  });
}

/** @param {number} quality */
export function grade(quality) {
  return h('span', { class: `grade grade-${quality}` }, quality);
}

/** Marks a material that was forgotten again and again. */
export const leechBadge = () => h('span', { class: 'badge', title: 'Forgotten again and again' }, 'leech');

/** Texts in it are paragraphs. @param {string} title @param {...Child} children */
export function card(title, ...children) {
  return h('section', { class: 'card', 'aria-label': title }, h('h2', {}, title), paragraphs(children));
}

/** Names beside what they stand for. @param {readonly (readonly [name: string, value: Child])[]} all */
export const facts = (all) =>
  h(
    'dl',
    { class: 'facts' },
    all.map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]),
  );

/** An empty state with an optional next step. @param {string} what @param {Child} [then] */
export function empty(what, then) {
  return h('div', { class: 'empty stack' }, h('p', { class: 'strong' }, what), then && h('p', {}, then));
}

/** The content of a later page that has no rows any more; undefined on the first page. @param {Route} route */
export function nothingLeft({ path, params }) {
  if (!params.has('after')) return undefined;
  const first = new URLSearchParams(params);
  first.delete('after');
  return empty('Nothing is left on this page.', h('a', { href: `#/${path}?${first}` }, 'First page'));
}

/** The page for links to what is missing or deleted. @param {string} what @returns {View} */
export const notThere = (what) => ({
  title: 'Not found',
  content: [
    h('h1', {}, 'Not found'),
    empty(`This ${what} does not exist.`, h('a', { href: '#/' }, 'Show all learners')),
  ],
});

/** @param {unknown} error @param {() => Promise<void>} again */
export function failure(error, again) {
  return h(
    'div',
    { class: 'card failure', role: 'alert' },
    h('h1', {}, 'Something went wrong'),
    h('p', { class: 'strong' }, error instanceof Error ? error.message : String(error)),
    h('p', {}, adviceOf(error)),
    requestIdOf(error),
    button('Try again', again, { class: 'primary' }),
  );
}

/** Under which ID the logs have the error. @param {unknown} error */
export function requestIdOf(error) {
  if (!(error instanceof FailedCallError) || error.requestId === null) return null;
  return muted('Request ID ', h('code', {}, error.requestId));
}

/** What the user can do about the error. @param {unknown} error */
export function adviceOf(error) {
  return error instanceof FailedCallError ? error.advice : 'Reload the page.';
}

/** The placeholder while data loads. */
export function skeleton() {
  const block = (/** @type {string} */ kind) => h('div', { class: `bone ${kind}` });
  return h(
    'div',
    { class: 'skeleton stack', role: 'status', 'aria-label': 'Loading' },
    block('line'),
    h(
      'div',
      { class: 'tiles' },
      [1, 2, 3, 4, 5].map(() => block('tile')),
    ),
    h(
      'div',
      { class: 'grid' },
      [1, 2, 3, 4].map(() => block('chart')),
    ),
  );
}

/**
 * A table that on a narrow screen scrolls, or stacks the cells of each row.
 * @param {string} name The accessible name.
 * @param {readonly string[]} data The columns of `rows`.
 * @param {readonly (readonly Child[])[]} rows
 * @param {'scrolls' | 'stacks'} whenNarrow
 * @param {readonly Child[] | false} actions What can be done with each row, in a last column; false for no such column.
 */
export function table(name, data, rows, whenNarrow = 'scrolls', actions = false) {
  const columns = actions ? [...data, 'Actions'] : data;
  // Stacked rows lose their table semantics, so set the roles explicitly.
  const head = h(
    'tr',
    { role: 'row' },
    columns.map((column) => h('th', { scope: 'col', role: 'columnheader', 'data-column': column }, column)),
  );
  const body = rows.map(([first, ...others], row) =>
    h(
      'tr',
      { role: 'row' },
      h('th', { scope: 'row', role: 'rowheader' }, first),
      [...others, ...(actions ? [actions[row]] : [])].map((cell, index) =>
        h('td', { role: 'cell', 'data-column': columns[index + 1] }, cell),
      ),
    ),
  );
  return h(
    'div',
    { class: `scroll ${whenNarrow}`, tabindex: '0', role: 'region', 'aria-label': `${name}: table` },
    h(
      'table',
      { role: 'table' },
      h('caption', { class: 'hidden' }, name),
      h('thead', { role: 'rowgroup' }, head),
      h('tbody', { role: 'rowgroup' }, body),
    ),
  );
}

/** Cursors lead forward only; this maps the cursor of a page to that of the page before. @type {Map<string, string>} */
const cameFrom = new Map();

/**
 * Links to the previous and the next page; to the first, where the page was not come to from the one before.
 * @param {PageInfo} pageInfo
 * @param {Route} route Of this page.
 */
export function pager({ hasNextPage, endCursor }, { path, params }) {
  const after = params.get('after') ?? '';
  const linkTo = (/** @type {string} */ cursor) => {
    const next = new URLSearchParams(params);
    if (cursor === '') next.delete('after');
    else next.set('after', cursor);
    return `#/${path}?${next}`;
  };
  if (endCursor !== null) cameFrom.set(endCursor, after);
  const isKnown = cameFrom.has(after);
  const before = after === '' ? undefined : (cameFrom.get(after) ?? '');
  if (before === undefined && !hasNextPage) return null;
  return h(
    'nav',
    { class: 'pager', 'aria-label': 'Pages' },
    before !== undefined &&
      h('a', { class: 'button', href: linkTo(before) }, isKnown ? 'Previous page' : 'First page'),
    hasNextPage && h('a', { class: 'button', href: linkTo(endCursor ?? '') }, 'Next page'),
  );
}

/**
 * Copies text. Over plain HTTP browsers have no clipboard API, so it falls back to execCommand.
 * @param {string} text
 * @returns whether it is copied, which it also announces
 */
export async function copy(text) {
  let isCopied = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = h('textarea', { class: 'hidden' });
    area.value = text;
    (document.querySelector('dialog[open]') ?? document.body).append(area);
    area.select();
    isCopied = document.execCommand('copy');
    area.remove();
  }
  announce(isCopied ? 'Copied.' : 'The browser did not copy it. Select the text and copy it by keyboard.');
  return isCopied;
}

/** @param {string} userId @param {string} id @param {string} title */
export const materialLink = (userId, id, title) =>
  h('a', { href: `#/users/${userId}/materials/${id}` }, titleOf(title));

/** A learner in a list. @param {string} href @param {string} name @param {{ sandbox: boolean } | null} user null: not known. @returns {Child} */
export const learnerLink = (href, name, user) => [
  h('a', { href }, name),
  user?.sandbox && [' ', sandboxBadge()],
];

/** Marks a user to test with. */
export const sandboxBadge = () => h('span', { class: 'badge' }, 'sandbox');
