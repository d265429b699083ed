// The pages with a list of many learners: of all, of who needs attention, and of what was done to them.
/** @import { Child, Context, List, Route, View } from '../../types.d.ts' */
import { FailedCallError } from '../../api.js';
import { h } from '../../dom.js';
import { ifAnswered, missingPart } from '../../parts.js';
import { empty, muted, nothingLeft, pager, table } from '../../ui.js';

/**
 * @template N
 * @param {{
 *   title: string,
 *   note: string,
 *   action?: (context: Context) => Child,
 *   filters?: (params: URLSearchParams) => Child,
 *   ask: (params: URLSearchParams) => Promise<{ list: List<N> }>,
 *   columns: string[],
 *   row: (node: N) => Child[],
 *   below?: (params: URLSearchParams) => Child,
 *   nothing: string,
 * }} page `action`: stands beside the heading. `below`: stands after the rows.
 * @returns {(context: Context) => Promise<View>}
 */
export function listView({ title, note, action, filters, ask, columns, row, below, nothing }) {
  return async (context) => {
    const { route, refresh } = context;
    const answer = await ifAnswered(ask(route.params));
    const shown = (/** @type {List<N>} */ { nodes, pageInfo }) =>
      nodes.length > 0
        ? [table(title, columns, nodes.map(row), 'stacks'), pager(pageInfo, route), below?.(route.params)]
        : (nothingLeft(route) ?? empty(nothing, route.params.size > 0 && showAll(route)));
    return {
      title,
      content: [
        h('div', { class: 'heading' }, h('h1', {}, title), action?.(context)),
        muted(note),
        filters?.(route.params),
        answer instanceof FailedCallError
          ? missingPart('The list is not available.', answer, refresh, 'Other pages may work.')
          : h('section', { class: 'card', 'aria-label': title }, shown(answer.list)),
        h('p', {}, h('a', { href: '#/' }, 'Back to the home page')),
      ],
    };
  };
}

/** @param {Route} route */
const showAll = ({ path }) => h('a', { href: `#/${path}` }, 'Show all');
