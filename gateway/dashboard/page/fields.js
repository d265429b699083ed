// The fields of forms, and how what is entered in them is read.
/** @import { Child } from './types.d.ts' */
import { FailedCallError } from './api.js';
import { h, newId } from './dom.js';
import { instantOf } from './format.js';

/**
 * A labelled input with an optional help text.
 * @param {string} label
 * @param {HTMLElement} input
 * @param {string} [help]
 */
export function field(label, input, help) {
  input.id ||= newId();
  const note = help === undefined ? null : h('small', { id: `${input.id}-help`, class: 'muted' }, help);
  if (note) input.setAttribute('aria-describedby', note.id);
  return h('div', { class: 'field' }, h('label', { for: input.id }, label), input, note);
}

/** @param {string} name @param {readonly (readonly string[])[]} options value and text @param {string} chosen */
export const select = (name, options, chosen) =>
  h(
    'select',
    { name, id: `select-${name}` },
    options.map(([value, text]) => h('option', { value, selected: value === chosen }, text)),
  );

/** A checkbox with its text; a radio button with that `type`. @param {Child} text @param {Record<string, unknown>} attributes */
export const choice = (text, attributes) =>
  h('label', { class: 'choice' }, h('input', { type: 'checkbox', ...attributes }), text);

/**
 * Checkboxes of which at least one must be checked.
 * @param {{
 *   legend: string,
 *   name: string,
 *   options: readonly (readonly string[])[],
 *   chosen: readonly string[],
 *   whenNone: string,
 * }} about `options`: value and text. `whenNone`: what the browser says when none is checked.
 */
export function checkboxes({ legend, name, options, chosen, whenNone }) {
  const boxes = h(
    'fieldset',
    {},
    h('legend', {}, legend),
    options.map(([value = '', text]) => choice(text, { name, value, checked: chosen.includes(value) })),
  );
  const requireOne = () => {
    const isAny = boxes.querySelector(':checked') !== null;
    boxes.querySelector('input')?.setCustomValidity(isAny ? '' : whenNone);
  };
  boxes.addEventListener('change', requireOne);
  requireOne();
  return boxes;
}

/** Takes a whole number. @param {string} name @param {number} min @param {number} max @param {Record<string, unknown>} [attributes] */
export const numberInput = (name, min, max, attributes) =>
  h('input', { type: 'number', name, min, max, ...attributes });

/** Takes an instant on the learner's clock, in years of four digits. @param {string} name @param {Record<string, unknown>} [attributes] */
export const instantInput = (name, attributes) =>
  h('input', { type: 'datetime-local', name, max: '9999-12-31T23:59', ...attributes });

/**
 * The instant that was entered, as the API takes it.
 * @param {FormDataEntryValue | null} local YYYY-MM-DDTHH:MM
 * @param {string} timeZone
 * @throws {FailedCallError} where it is empty
 */
export function readInstant(local, timeZone) {
  if (!local) throw new FailedCallError('The date is missing.', 'Enter a date and a time.');
  return instantOf(String(local), timeZone).toISOString();
}
