// Lists that grow: a button loads older rows, and coming back to the page loads as many again.
/** @import { Child, List, Place } from './types.d.ts' */
import { drawCharts } from './charts/charts.js';
import { nodesOf } from './dom.js';
import { attempt, button } from './ui.js';

/**
 * The first pages of a list, together: as many as were loaded at `place`.
 * @template N
 * @param {Place} place
 * @param {List<N>} first
 * @param {(after: string | null) => Promise<List<N>>} older
 */
export async function loadedPages({ pages }, first, older) {
  let list = first;
  for (let page = 1; page < pages && list.pageInfo.hasNextPage; page += 1) list = await withNext(list, older);
  return list;
}

/**
 * Fills a section with a list, and again with more of it when the button is pressed.
 * @template N
 * @param {HTMLElement} section
 * @param {Place} place
 * @param {List<N>} list
 * @param {{
 *   label: string,
 *   older: (after: string | null) => Promise<List<N>>,
 *   show: (nodes: readonly N[], button: Child) => Child,
 * }} how `label`: of the button; `show`: with the button, where there are older rows.
 */
export function showList(section, place, list, how) {
  const { label, older, show } = how;
  const load = async () => {
    const more = await withNext(list, older);
    place.pages += 1;
    showList(section, place, more, how);
    drawCharts();
    const next = section.querySelector('#older') ?? section.querySelector('.scroll');
    if (next instanceof HTMLElement) next.focus({ preventScroll: true });
  };
  const more = list.pageInfo.hasNextPage && button(label, () => attempt(load), { id: 'older' });
  section.replaceChildren(...nodesOf(show(list.nodes, more)));
}

/**
 * @template N
 * @param {List<N>} list
 * @param {(after: string | null) => Promise<List<N>>} older
 * @returns {Promise<List<N>>}
 */
async function withNext(list, older) {
  const { nodes, pageInfo } = await older(list.pageInfo.endCursor);
  return { nodes: [...list.nodes, ...nodes], pageInfo };
}
