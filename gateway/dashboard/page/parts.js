// Parts of a page that come from a service of their own: while it does not answer, the rest of the page works.
/** @import { Child } from './types.d.ts' */
import { FailedCallError } from './api.js';
import { h } from './dom.js';
import { adviceOf, button, requestIdOf } from './ui.js';

/**
 * What was asked for, or the error of a service that does not answer.
 * @template T
 * @param {Promise<T>} asked
 * @returns {Promise<T | FailedCallError>}
 */
export function ifAnswered(asked) {
  return asked.catch((error) => {
    if (error instanceof FailedCallError && error.code === 'UNAVAILABLE') return error;
    throw error;
  });
}

/** Says which part is missing, what else works, and what to do. @param {string} what @param {FailedCallError} error @param {() => Promise<void>} again @param {Child} [works] */
export function missingPart(what, error, again, works = 'The rest works.') {
  return h(
    'section',
    { class: 'card failure', role: 'alert' },
    h('h2', {}, what),
    h('p', {}, adviceOf(error), ' ', works),
    requestIdOf(error),
    button('Try again', () => void again(), { class: 'primary', id: 'try-again' }),
  );
}
