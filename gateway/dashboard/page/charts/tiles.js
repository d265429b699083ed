// Tiles: a row of single figures.
/** @import { Child } from '../types.d.ts' */
import { h } from '../dom.js';

/** @param {string} name @param {string} value @param {Child} more What the value is compared with, or counted from. */
export const tile = (name, value, more) =>
  h(
    'div',
    { class: 'card tile' },
    h('dt', {}, name),
    h('dd', { class: 'figure-value' }, value),
    h('dd', { class: 'muted' }, more),
  );

/** @param {...Element} all */
export const tiles = (...all) => h('dl', { class: 'tiles' }, all);
