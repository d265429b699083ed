// The page for links to missing or deleted objects.
/** @import { View } from '../types.d.ts' */
import { h } from '../dom.js';
import { empty } from '../ui.js';

/** @param {string} what @returns {View} */
export function notThere(what) {
  return {
    title: 'Not found',
    content: [
      h('h1', {}, 'Not found'),
      empty(`This ${what} does not exist.`, h('a', { href: '#/' }, 'Show all learners')),
    ],
  };
}
