// Operator actions on a material: archive, restore, snooze, label.
/** @import { Context, MaterialRow, SnoozePreset, User } from '../types.d.ts' */
import { request } from '../api.js';
import { h } from '../dom.js';
import { choice, field, instantInput, readInstant } from '../fields.js';
import { counted, instant, titleOf, tomorrowOf } from '../format.js';
import { labelsField, readLabels } from '../labels.js';
import { act, actions, rowButtons } from '../ui.js';
import { ask, showResults } from './dialog.js';
import { PRESETS } from './presets.js';

/** The buttons of a material; a viewer gets none. @param {Context} context @param {User} user @param {MaterialRow} material */
export function materialActions(context, user, material) {
  if (!context.mayChange) return null;
  const button = rowButtons(titleOf(material.title), material.id);
  const input = { userId: user.id, materialId: material.id };
  const change = (/** @type {'ARCHIVE' | 'RESTORE'} */ mutation, /** @type {string} */ done) =>
    act(context, async () => {
      await request(mutation, { input });
      return `${done}: ${titleOf(material.title)}`;
    });
  if (material.archivedAt !== null)
    return actions(button('Restore', 'archive', () => change('RESTORE', 'Restored')));
  return actions(
    button('Snooze', 'snooze', () => askSnooze(context, user, [material])),
    button('Archive', 'archive', () => change('ARCHIVE', 'Archived')),
  );
}

/** @param {Context} context @param {User} user @param {readonly MaterialRow[]} materials All or none are snoozed. */
export function askSnooze(context, user, materials) {
  const { timeZone } = user;
  const [first] = materials;
  const what = materials.length === 1 && first ? titleOf(first.title) : counted(materials.length, 'material');
  ask(context, {
    title: 'Snooze',
    body: [
      h('p', { class: 'strong' }, what),
      untilFields(user),
      field('Reason (optional)', h('input', { name: 'reason', maxlength: '500' })),
    ],
    submit: 'Snooze',
    onSubmit: async (data) => {
      // The value of a radio button.
      const chosen = /** @type {SnoozePreset | 'DATE'} */ (data.get('until'));
      const until =
        chosen === 'DATE' ? { snoozeUntil: readInstant(data.get('date'), timeZone) } : { preset: chosen };
      const input = {
        userId: user.id,
        materialIds: materials.map(({ id }) => id),
        ...until,
        reason: String(data.get('reason')),
      };
      const { snooze } = (await request('SNOOZE', { input })).snoozeMaterials;
      const done = `Snoozed until ${instant(snooze.snoozeUntil, timeZone)}`;
      // As they are now: since the page was shown, they may have been reviewed or deleted.
      const now = new Map(snooze.materials.map(({ id, nextReview }) => [id, nextReview]));
      const resultOf = (/** @type {string} */ id) => {
        if (!now.has(id)) return 'Not there any more';
        return now.get(id) === snooze.snoozeUntil ? done : 'No effect: due later anyway';
      };
      if (materials.length === 1 && first) return `${resultOf(first.id)}: ${what}`;
      showResults(
        'Snooze',
        materials.map(({ id, title }) => [titleOf(title), resultOf(id)]),
      );
      return `${done}: ${what}`;
    },
  });
}

/** The presets, and a date, which is chosen when it is entered. @param {User} user */
function untilFields(user) {
  const choices = [...Object.entries(PRESETS), ['DATE', 'Until a date']].map(([value, text], index) =>
    choice(text, { type: 'radio', name: 'until', value, checked: index === 0 }),
  );
  const date = instantInput('date', { value: `${tomorrowOf(user)}T09:00` });
  date.addEventListener('input', () => {
    const radio = choices.at(-1)?.querySelector('input');
    if (radio) radio.checked = true;
  });
  const legend = h('legend', {}, `Snooze, in the time zone ${user.timeZone}`);
  return h('fieldset', {}, legend, choices, field('Date and time', date));
}

/** @param {Context} context @param {User} user @param {MaterialRow} material */
export function askLabels(context, user, { id: materialId, title, labels }) {
  const help = 'At most 20, of up to 60 characters. A slash makes levels: Spanish/Verbs lies below Spanish.';
  ask(context, {
    title: 'Edit labels',
    body: [h('p', { class: 'strong' }, titleOf(title)), labelsField(labels, help)],
    submit: 'Save',
    onSubmit: async (data) => {
      const input = { userId: user.id, materialId, labels: readLabels(data) };
      await request('UPDATE_MATERIAL', { input });
      return `Saved the labels: ${titleOf(title)}`;
    },
  });
}
