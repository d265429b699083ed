// Parts of a page that come from a service of their own: while it does not answer, the rest of the page works.
import { FailedCallError } from './api.js';
import { h } from './dom.js';
import { adviceOf, button, requestIdOf } from './ui.js';

/**
 * What was asked for, or the error of a service that does not answer or is switched off, or refuses a part of the address.
 * @template T
 * @param {Promise<T>} asked
 * @returns {Promise<T | FailedCallError>}
 */
export function ifAnswered(asked) {
  return asked.catch((error) => {
    if (error instanceof FailedCallError && PARTIAL.includes(error.code)) return error;
    throw error;
  });
}

const PARTIAL = ['UNAVAILABLE', 'INVALID_REQUEST'];

/** Says which part is missing, what else works, and what to do. @param {string} what @param {FailedCallError} error @param {() => Promise<void>} again @param {string} [works] */
export function missingPart(what, error, again, works = 'The rest works.') {
  const isRefused = error.code === 'INVALID_REQUEST';
  return h(
    'section',
    { class: 'card failure', role: 'alert' },
    h('h2', {}, isRefused ? error.message : what),
    h('p', {}, isRefused ? works : `${adviceOf(error)} ${works}`),
    requestIdOf(error),
    !isRefused && button('Try again', again, { class: 'primary', id: `again-${what.replace(/\W+/g, '-')}` }),
  );
}
