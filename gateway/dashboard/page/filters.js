// Forms whose fields are the parameters of the page's address, so that a filter is kept when somebody leaves the page and comes back.
import { byId, h } from './dom.js';

/**
 * Goes to `base` with the fields as parameters when one is chosen or the form is sent. A form to type in needs a button: where several
 * fields take text, Enter alone sends nothing.
 * @param {string} base The address without parameters.
 * @param {string} kind The class.
 * @param {...Element} fields
 */
export function filterForm(base, kind, ...fields) {
  const about = { class: kind, role: 'search', 'aria-label': 'Filters', autocomplete: 'off' };
  const form = h('form', about, fields);
  const apply = () => {
    for (const input of typedIn(form)) input.defaultValue = input.value;
    const chosen = [...new FormData(form)].map(([name, value]) => [name, String(value).trim()]);
    const address = `${base}?${new URLSearchParams(chosen.filter(([, value]) => value !== ''))}`;
    // The same search again shows what has come since.
    if (address === location.hash) dispatchEvent(new Event('hashchange'));
    else location.hash = address;
  };
  // Not dates: browsers report each digit as a change, also the years 2, 20 and 202.
  for (const input of form.querySelectorAll('select, [type=checkbox]'))
    input.addEventListener('change', apply);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    apply();
  });
  return form;
}

/** Takes a text that the address has already, if any. @param {URLSearchParams} params @param {string} name @param {Record<string, unknown>} [attributes] */
export const filterInput = (params, name, attributes) =>
  h('input', { type: 'search', name, id: `filter-${name}`, value: params.get(name) ?? '', ...attributes });

/** @param {ParentNode} of @returns {NodeListOf<HTMLInputElement>} */
const typedIn = (of) => of.querySelectorAll('[type=search], [type=date], [id^=profile-]');

/** Keeps the fields whose text has not been sent, and the plan of a profile, while the page is shown anew; the returned function puts them back. */
export function keepTyped() {
  const typed = [...typedIn(byId('main'))].filter(({ value, defaultValue }) => value !== defaultValue);
  const plan = byId('main').querySelector('#select-plan option:checked:not([selected])');
  return () => {
    const freshPlan = document.getElementById('select-plan');
    if (plan && freshPlan instanceof HTMLSelectElement) freshPlan.value = plan.getAttribute('value') ?? '';
    for (const input of typed) {
      const fresh = document.getElementById(input.id);
      if (!(fresh instanceof HTMLInputElement)) continue;
      input.defaultValue = fresh.defaultValue;
      fresh.replaceWith(input);
    }
  };
}

/** The latest parameters of each list. @type {Map<string, string>} */
const kept = new Map();

/** Remembers a list's filters. @param {string} base @param {URLSearchParams} params */
export const keepFilters = (base, params) => void kept.set(base, `${params}`);

/** The address of a list, with the filters that it had last. @param {string} base */
export const withKeptFilters = (base) => (kept.get(base) ? `${base}?${kept.get(base)}` : base);
