// A drawing with its name, which can be read as a table as well, and copied from there into a spreadsheet.
/** @import { Child } from './types.d.ts' */
import { h } from './dom.js';
import { button, card, copy, empty, table } from './ui.js';

/**
 * @param {{
 *   title: string,
 *   note: string,
 *   columns: readonly string[],
 *   rows: readonly (readonly (string | number)[])[],
 *   drawing: () => Element,
 *   legend?: Child,
 *   isWide?: boolean,
 *   nothing?: string | false,
 * }} options `nothing`: what is said in place of a drawing that would show nothing
 */
export function figure({ title, note, columns, rows, drawing, legend, isWide = false, nothing = false }) {
  if (nothing !== false) return card(title, empty(nothing));
  const drawn = h('div', { class: 'drawing' }, drawing());
  const read = table(title, columns, rows);
  read.hidden = true;
  const copyTable = button('Copy', () => void copy(toTsv([columns, ...rows])), { hidden: true });
  const toggle = button('Table', () => showTable(toggle.getAttribute('aria-pressed') === 'false'), {
    'aria-pressed': 'false',
  });
  const showTable = (/** @type {boolean} */ isTable) => {
    drawn.hidden = isTable;
    read.hidden = !isTable;
    copyTable.hidden = !isTable;
    toggle.setAttribute('aria-pressed', String(isTable));
  };
  const section = card(title, h('p', { class: 'muted note' }, note), drawn, legend, read);
  section.classList.add('figure');
  if (isWide) section.classList.add('wide');
  section.querySelector('h2')?.after(h('div', { class: 'tools' }, copyTable, toggle));
  return section;
}

/** Tabs between cells, as spreadsheets take it. @param {readonly (readonly (string | number)[])[]} rows */
function toTsv(rows) {
  return rows.map((row) => row.map((cell) => String(cell).replace(/[\t\r\n]+/g, ' ')).join('\t')).join('\n');
}
