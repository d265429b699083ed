// Where a link leads to what is not there (any more).
/** @import { View } from '../types.d.ts' */
import { h } from '../dom.js';
import { empty } from '../ui.js';

/** @param {string} what @returns {View} */
export function notThere(what) {
  return {
    title: 'Not found',
    content: [
      h('h1', { tabindex: '-1' }, 'Not found'),
      empty(`There is no such ${what} (any more).`, h('a', { href: '#/' }, 'Look through the learners')),
    ],
  };
}
