// Confirmation dialogs, and dialogs for results that are shown once.
/** @import { Child } from '../types.d.ts' */
import { h, newId } from '../dom.js';
import { button, explain } from '../ui.js';

/**
 * Opens a form in a dialog. If `onSubmit` fails, the dialog stays open and shows the error.
 * @param {{
 *   title: string,
 *   body: Child,
 *   submit: string,
 *   isDangerous?: boolean,
 *   onSubmit: (data: FormData) => Promise<void>,
 * }} options
 */
export function ask({ title, body, submit, isDangerous = false, onSubmit }) {
  const problem = h('p', { class: 'problem', role: 'alert' });
  const send = h('button', { type: 'submit', class: isDangerous ? 'danger' : 'primary' }, submit);
  const form = h(
    'form',
    {},
    body,
    problem,
    h(
      'div',
      { class: 'actions' },
      button('Cancel', () => dialog.close()),
      send,
    ),
  );
  const dialog = open(title, form);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    send.disabled = true;
    problem.textContent = '';
    try {
      await onSubmit(new FormData(form));
      dialog.close();
    } catch (error) {
      problem.textContent = explain(error);
    } finally {
      send.disabled = false;
    }
  });
}

/** Shows a message until the user closes it. @param {string} title @param {Child} body */
export function tell(title, body) {
  const dialog = open(
    title,
    h(
      'div',
      {},
      body,
      h(
        'div',
        { class: 'actions' },
        button('Done', () => dialog.close()),
      ),
    ),
  );
}

/** @param {string} title @param {Node} body */
function open(title, body) {
  const id = newId();
  const dialog = h('dialog', { 'aria-labelledby': id }, h('h2', { id }, title), body);
  dialog.addEventListener('close', () => {
    dialog.remove();
    // The element that opened it may no longer exist.
    if (document.activeElement === document.body) document.querySelector('h1')?.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/**
 * A labelled input with an optional help text.
 * @param {string} label
 * @param {HTMLElement} input
 * @param {string} [help]
 */
export function field(label, input, help) {
  input.id ||= newId();
  const note = help === undefined ? null : h('small', { id: newId(), class: 'muted' }, help);
  if (note) input.setAttribute('aria-describedby', note.id);
  return h('div', { class: 'field' }, h('label', { for: input.id }, label), input, note);
}
