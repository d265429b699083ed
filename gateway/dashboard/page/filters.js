// Forms whose fields are the parameters of the page's address, so that a filter stays when the page is left and found again.
import { field } from './actions/dialog.js';
import { h } from './dom.js';

/** @param {string} label @param {string} name @param {readonly (readonly string[])[]} options value and text @param {string} chosen */
export const choice = (label, name, options, chosen) =>
  field(
    label,
    h(
      'select',
      { name, id: `filter-${name}` },
      options.map(([value, text]) => h('option', { value, selected: value === chosen }, text)),
    ),
  );

/**
 * Goes to `base` with the fields as parameters when one is chosen or the form is sent.
 * @param {string} base The address without parameters.
 * @param {string} kind The class.
 * @param {...Element} fields
 */
export function filterForm(base, kind, ...fields) {
  const form = h('form', { class: kind, role: 'search', 'aria-label': 'Filters' }, fields);
  const apply = () => {
    const chosen = [...new FormData(form)].map(([name, value]) => [name, String(value).trim()]);
    location.hash = `${base}?${new URLSearchParams(chosen.filter(([, value]) => value !== ''))}`;
  };
  for (const input of form.querySelectorAll('select, [type=checkbox]'))
    input.addEventListener('change', apply);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    apply();
  });
  return form;
}

/** The latest parameters of each list. @type {Map<string, string>} */
const kept = new Map();

/** Remembers a list's filters. @param {string} base @param {URLSearchParams} params */
export const keepFilters = (base, params) => void kept.set(base, `${params}`);

/** The address of a list, with the filters that it had last. @param {string} base */
export const withKeptFilters = (base) => (kept.get(base) ? `${base}?${kept.get(base)}` : base);
