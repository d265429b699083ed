// Operator actions on several materials of a page: snooze them together, or archive them one after the other.
/** @import { Context, MaterialRow, User } from '../types.d.ts' */
import { request } from '../api.js';
import { h } from '../dom.js';
import { counted, titleOf } from '../format.js';
import { announce, button, explain } from '../ui.js';
import { showResults } from './dialog.js';
import { askSnooze } from './material-actions.js';

/** Selects a material for `bulkActions`. @param {MaterialRow} material */
export const selectBox = ({ id, title }) =>
  h('input', { type: 'checkbox', class: 'select', value: id, 'aria-label': `Select ${titleOf(title)}` });

/** What can be done with the selected materials of the page. @param {Context} context @param {User} user @param {readonly MaterialRow[]} all */
export function bulkActions(context, user, all) {
  const boxes = () => /** @type {HTMLInputElement[]} */ ([...document.querySelectorAll('main .select')]);
  const selected = () => {
    const ids = new Set(boxes().flatMap(({ checked, value }) => (checked ? [value] : [])));
    return all.filter(({ id, archivedAt }) => ids.has(id) && archivedAt === null);
  };
  const withSelected = async (
    /** @type {(materials: readonly MaterialRow[]) => void | Promise<void>} */ act,
  ) => {
    const materials = selected();
    if (materials.length === 0) announce('Select active materials first.');
    else await act(materials);
  };
  const selectAll = button('Select all', () => {
    const isAll = boxes().every(({ checked }) => checked);
    for (const box of boxes()) box.checked = !isAll;
  });
  return h(
    'div',
    { class: 'actions', role: 'group', 'aria-label': 'Selected materials' },
    selectAll,
    button('Snooze selected', () => withSelected((materials) => askSnooze(context, user, materials)), {
      id: 'snooze-selected',
    }),
    button('Archive selected', () => withSelected((materials) => archive(context, user, materials)), {
      id: 'archive-selected',
    }),
  );
}

/** One after the other: one that fails stops none of the others, unless it was refused for the login. @param {Context} context @param {User} user @param {readonly MaterialRow[]} materials */
async function archive(context, user, materials) {
  const isLoggedOut = () => document.querySelector('.login') !== null;
  /** @type {string[]} */
  const failures = [];
  /** @type {[string, string][]} */
  const results = [];
  const archiveOne = (/** @type {string} */ materialId) =>
    request('ARCHIVE', { input: { userId: user.id, materialId } }).then(
      () => 'Archived',
      (error) => {
        const why = explain(error);
        failures.push(why);
        return why;
      },
    );
  for (const { id, title } of materials)
    results.push([titleOf(title), isLoggedOut() ? 'Not tried' : await archiveOne(id)]);
  const done = results.filter(([, result]) => result === 'Archived').length;
  announce(
    done === results.length
      ? `Archived: ${counted(done, 'material')}`
      : `Archived ${done} of ${results.length}. ${failures[0]}`,
  );
  await context.refresh();
  if (!isLoggedOut()) showResults('Archive', results);
}
