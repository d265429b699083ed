// Confirmation dialogs, and dialogs for results that are shown once.
/** @import { Child, Context } from '../types.d.ts' */
import { drawCharts } from '../charts/charts.js';
import { h, newId, nodesOf, paragraphs } from '../dom.js';
import { field } from '../fields.js';
import { actions, announce, button, copy, explain, table } from '../ui.js';

/**
 * Opens a form in a dialog. After `onSubmit`, its result is announced and the page is shown again. If it fails, the dialog stays open and
 * shows the error; if the dialog has been closed, a notice shows it.
 * @param {Context} context
 * @param {{
 *   title: string,
 *   body: Child,
 *   submit: string,
 *   isDangerous?: boolean,
 *   onSubmit: (data: FormData) => Promise<string | void>,
 * }} options `body`: its texts are paragraphs. `onSubmit`: resolves to what was done; to nothing if it shows that itself.
 */
export function ask({ refresh }, { title, body, submit, isDangerous = false, onSubmit }) {
  const problem = h('p', { class: 'problem', role: 'alert' });
  const send = h('button', { type: 'submit', class: isDangerous ? 'danger' : 'primary' }, submit);
  const form = h(
    'form',
    { autocomplete: 'off' },
    paragraphs(body),
    problem,
    actions(
      button('Cancel', () => dialog.close()),
      send,
    ),
  );
  const dialog = open(title, form);
  submits(form, { send, problem }, async (data) => {
    const done = await onSubmit(data);
    if (done) {
      announce(done);
      await refresh();
    }
    dialog.close();
    // Screen readers hear nothing from outside a dialog while it is open.
    if (done) announce(done);
  });
}

/**
 * Runs `work` when the form is submitted, one run at a time. An error is shown in the form, or in a notice if it has been removed.
 * @param {HTMLFormElement} form
 * @param {{ send: HTMLButtonElement, problem: HTMLElement }} parts
 * @param {(data: FormData) => Promise<void>} work
 */
export function submits(form, { send, problem }, work) {
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    send.disabled = true;
    problem.textContent = '';
    try {
      await work(new FormData(form));
    } catch (error) {
      // After a 401, explain takes the dialog off the page.
      const isShown = form.isConnected;
      const message = explain(error);
      if (isShown) problem.textContent = message;
      else announce(message);
    } finally {
      send.disabled = false;
    }
  });
}

/** Longer than the time between two keystrokes. */
const PAUSE_MS = 300;

/**
 * Shows in a form what it would do: now, and a moment after each input.
 * @param {HTMLElement} preview
 * @param {readonly HTMLElement[]} inputs
 * @param {(data: FormData) => Promise<Child>} ask
 */
export function showPreview(preview, inputs, ask) {
  const form = /** @type {HTMLFormElement} */ (preview.closest('form'));
  let latest = 0;
  const show = async () => {
    latest += 1;
    const turn = latest;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    if (turn !== latest || !form.isConnected || !form.checkValidity()) return;
    const shown = await ask(new FormData(form)).catch(explain);
    // A later input is shown instead.
    if (turn !== latest || !form.isConnected) return;
    preview.replaceChildren(...nodesOf(shown));
    drawCharts();
  };
  for (const input of inputs) input.addEventListener('input', () => void show());
  form.closest('dialog')?.addEventListener('back', () => void show());
  void show();
}

/** Shows a message until the user closes it. @param {string} title @param {Child} body */
export function showMessage(title, body) {
  const dialog = open(title, h('div', {}, paragraphs(body), actions(button('Done', () => dialog.close()))));
  return dialog;
}

/** Shows the result for each of several things. @param {string} title @param {readonly (readonly [what: string, result: string])[]} results */
export const showResults = (title, results) =>
  void showMessage(title, table('Results', ['Material', 'Result'], results));

/**
 * Shows a new secret for the only time, over the page with it. Esc does not close the dialog, since nobody could get the secret back.
 * @param {Context} context
 * @param {{ title: string, label: string, secret: string, help: string }} options
 */
export function showSecret({ refresh }, { title, label, secret, help }) {
  const shown = h('textarea', { class: 'mono break', readonly: true, rows: '2' }, secret);
  shown.addEventListener('focus', () => shown.select());
  const copySecret = button(
    'Copy',
    async () => {
      const isCopied = await copy(secret);
      copySecret.textContent = isCopied ? 'Copied' : 'Not copied: use the keyboard';
      // Selects it.
      if (!isCopied) shown.focus();
    },
    { class: 'primary' },
  );
  const dialog = showMessage(title, [
    'Copy it now. It is not stored and cannot be shown again.',
    field(label, shown, help),
    copySecret,
  ]);
  dialog.setAttribute('closedby', 'none');
  // For browsers that do not know closedby.
  dialog.addEventListener('cancel', (event) => event.preventDefault());
  void refresh();
}

/** Opens a dialog. When it closes, the focus returns to what opened it, even on a page shown again. @param {string} title @param {Node} body */
function open(title, body) {
  const id = newId();
  const opener = document.activeElement?.id ?? '';
  const dialog = h('dialog', { 'aria-labelledby': id }, h('h2', { id }, title), body);
  dialog.addEventListener('close', () => {
    dialog.remove();
    // Otherwise the browser has returned the focus.
    if (document.activeElement !== document.body) return;
    (document.getElementById(opener) ?? document.querySelector('h1'))?.focus({ preventScroll: true });
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** The open dialogs, except one with a secret, which nobody could get back. */
const closable = () =>
  [...document.querySelectorAll('dialog')].filter((dialog) => dialog.getAttribute('closedby') !== 'none');

export function closeDialogs() {
  for (const dialog of closable()) dialog.close();
}

/** Takes the dialogs off the page, with what is typed in them. */
export function putAway() {
  const dialogs = closable();
  for (const dialog of dialogs) dialog.remove();
  return dialogs;
}

/** Shows dialogs again that `putAway` has removed, except those that have been closed since. @param {readonly HTMLDialogElement[]} dialogs */
export function bringBack(dialogs) {
  for (const dialog of dialogs.filter(({ open }) => open)) {
    // showModal rejects a dialog that is marked as open.
    dialog.open = false;
    document.body.append(dialog);
    dialog.showModal();
    dialog.dispatchEvent(new Event('back'));
  }
}
