// Operator actions on a material: archive, restore, snooze.
/** @import { Context, MaterialRow, SnoozePreset, User } from '../types.d.ts' */
import { request } from '../api.js';
import { h } from '../dom.js';
import { counted, instant, tomorrowIn } from '../format.js';
import { act, actions, button } from '../ui.js';
import { ask, field } from './dialog.js';
import { PRESETS } from './presets.js';
import { LATEST, readInstant } from './read-instant.js';

/** The buttons of a material; a viewer gets none. @param {Context} context @param {User} user @param {MaterialRow} material */
export function materialActions(context, user, material) {
  if (!context.mayChange) return null;
  const about = (/** @type {string} */ action, /** @type {string} */ what) => ({
    'aria-label': `${action} ${material.title}`,
    id: `${what}-${material.id}`,
  });
  const input = { userId: user.id, materialId: material.id };
  const change = (/** @type {'ARCHIVE' | 'RESTORE'} */ mutation, /** @type {string} */ done) =>
    void act(context, async () => {
      await request(mutation, { input });
      return `${done}: ${material.title}`;
    });
  if (material.archivedAt !== null) {
    return actions(button('Restore', () => change('RESTORE', 'Restored'), about('Restore', 'archive')));
  }
  return actions(
    button('Snooze', () => askSnooze(context, user, [material]), about('Snooze', 'snooze')),
    button('Archive', () => change('ARCHIVE', 'Archived'), about('Archive', 'archive')),
  );
}

/** @param {Context} context @param {User} user @param {readonly MaterialRow[]} materials All or none are snoozed. */
export function askSnooze(context, user, materials) {
  const what = materials.length === 1 ? (materials[0]?.title ?? '') : counted(materials.length, 'material');
  const tomorrow = tomorrowIn(user.timeZone);
  const choices = [...Object.entries(PRESETS), ['DATE', 'Until a date']].map(([value, label], index) =>
    h(
      'label',
      { class: 'choice' },
      h('input', { type: 'radio', name: 'until', value, checked: index === 0 }),
      label,
    ),
  );
  const date = h('input', { type: 'datetime-local', name: 'date', value: `${tomorrow}T09:00`, max: LATEST });
  date.addEventListener('input', () => {
    const radio = choices.at(-1)?.querySelector('input');
    if (radio) radio.checked = true;
  });
  ask(context, {
    title: 'Snooze',
    body: [
      h('p', { class: 'strong' }, what),
      h(
        'fieldset',
        {},
        h('legend', {}, `Snooze, in the time zone ${user.timeZone}`),
        choices,
        field('Date and time', date),
      ),
      field('Reason (optional)', h('input', { name: 'reason', maxlength: '500', autocomplete: 'off' })),
    ],
    submit: 'Snooze',
    onSubmit: async (data) => {
      // The value of a radio button.
      const chosen = /** @type {SnoozePreset | 'DATE'} */ (data.get('until'));
      const until =
        chosen === 'DATE'
          ? { snoozeUntil: readInstant(data.get('date'), user.timeZone) }
          : { preset: chosen };
      const input = {
        userId: user.id,
        materialIds: materials.map(({ id }) => id),
        ...until,
        reason: String(data.get('reason')),
      };
      const { snoozeMaterials } = await request('SNOOZE', { input });
      return `Snoozed until ${instant(snoozeMaterials.snooze.snoozeUntil, user.timeZone)}: ${what}`;
    },
  });
}
