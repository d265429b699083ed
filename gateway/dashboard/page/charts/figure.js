// A titled chart that can also be shown as a table and copied into a spreadsheet.
/** @import { Child } from '../types.d.ts' */
import { h } from '../dom.js';
import { actions, button, card, copy, empty, table } from '../ui.js';

/**
 * @param {{
 *   title: string,
 *   note: string,
 *   columns: readonly string[],
 *   rows: readonly (readonly (string | number)[])[],
 *   drawing: () => Element,
 *   legend?: Child,
 *   isLegendBeside?: boolean,
 *   hrefOf?: (row: readonly (string | number)[]) => string,
 *   isWide?: boolean,
 *   nothing?: string | false,
 * }} options `isLegendBeside`: where there is room; `hrefOf`: where the first cell of a row leads; `nothing`: the text in place of an empty drawing
 */
export function figure({
  title,
  note,
  columns,
  rows,
  drawing,
  legend,
  isLegendBeside = false,
  hrefOf,
  isWide = false,
  nothing = false,
}) {
  if (nothing !== false) return card(title, empty(nothing));
  const drawn = h(
    'div',
    { class: isLegendBeside ? 'beside' : 'stack' },
    h('div', { class: 'drawing' }, drawing()),
    legend,
  );
  const linked =
    hrefOf === undefined ? rows : rows.map((row) => [h('a', { href: hrefOf(row) }, row[0]), ...row.slice(1)]);
  const read = table(title, columns, linked);
  read.hidden = true;
  const copyTable = button('Copy', () => copy(toTsv([columns, ...rows])), {
    hidden: true,
    'aria-label': `Copy: ${title}`,
  });
  const toggle = button('Show as table', () => showTable(toggle.getAttribute('aria-pressed') === 'false'), {
    'aria-pressed': 'false',
    'aria-label': `Show as table: ${title}`,
  });
  const showTable = (/** @type {boolean} */ isTable) => {
    drawn.hidden = isTable;
    read.hidden = !isTable;
    copyTable.hidden = !isTable;
    toggle.setAttribute('aria-pressed', String(isTable));
  };
  return h(
    'section',
    { class: isWide ? 'card figure wide' : 'card figure', 'aria-label': title },
    h('div', { class: 'heading' }, h('h2', {}, title), actions(copyTable, toggle)),
    h('p', { class: 'muted note' }, note),
    ...[drawn, read],
  );
}

/** What each sign of a drawing means. @param {readonly (readonly [sign: Element, meaning: string])[]} signs */
export function legend(signs) {
  return h(
    'p',
    { class: 'legend' },
    signs.map(([sign, meaning]) => {
      sign.setAttribute('aria-hidden', 'true');
      return h('span', { class: 'key' }, sign, meaning);
    }),
  );
}

/** Tab-separated, as spreadsheets paste it. @param {readonly (readonly (string | number)[])[]} rows */
function toTsv(rows) {
  return rows.map((row) => row.map((cell) => String(cell).replace(/[\t\r\n]+/g, ' ')).join('\t')).join('\n');
}
