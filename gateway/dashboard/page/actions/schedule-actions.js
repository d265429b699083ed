// How a learner’s reviews are scheduled, in words, the dialog that changes it after a preview, and that of what makes a leech.
/** @import { Context, LearnerSettings, SettingsPreview, User } from '../types.d.ts' */
import { request } from '../api.js';
import { h } from '../dom.js';
import { counted, longDay } from '../format.js';
import { announce, explain } from '../ui.js';
import { askCatchUp } from './catch-up.js';
import { ask, field } from './dialog.js';

/** Longer than somebody takes between two digits. */
const PAUSE_MS = 300;

/** @type {Readonly<Record<LearnerSettings['scheduler'], { name: string, about: string }>>} */
export const METHODS = {
  SM2: {
    name: 'SM-2, the classic',
    about: 'Each time a card is remembered, the wait for the next time grows; after a miss it begins again.',
  },
  FSRS: {
    name: 'FSRS, follows memory',
    about: 'Estimates from all answers to a card how fast it is forgotten, and asks before that happens.',
  },
};

/** @type {Readonly<Record<LearnerSettings['parameters'], string>>} */
const PARAMETERS = {
  DEFAULT: 'Of most people',
  TRAINED: 'The learner’s own',
};

/** A share as a whole number of percent. @param {number} share */
export const percentOf = (share) => Math.round(share * 100);

/** @param {Context} context @param {User} user @param {LearnerSettings} settings */
export function askSchedule(context, user, settings) {
  const names = /** @type {LearnerSettings['scheduler'][]} */ (Object.keys(METHODS));
  const method = h(
    'select',
    { name: 'scheduler' },
    names.map((value) => h('option', { value, selected: value === settings.scheduler }, METHODS[value].name)),
  );
  const target = h('input', {
    type: 'number',
    name: 'target',
    min: '70',
    max: '97',
    step: '1',
    required: true,
    value: `${percentOf(settings.desiredRetention)}`,
  });
  const about = h('p', { 'aria-live': 'polite' });
  const targetPart = h(
    'div',
    {},
    field(
      'Cards remembered when asked, in percent',
      target,
      'From 70 to 97; 90 suits most. A higher number means more reviews and less forgotten.',
    ),
  );
  const parameters = h(
    'select',
    { name: 'parameters' },
    Object.entries(PARAMETERS).map(([value, name]) =>
      h('option', { value, selected: value === settings.parameters }, name),
    ),
  );
  const parametersPart =
    settings.trainedAt !== null &&
    h(
      'div',
      {},
      field(
        'Memory',
        parameters,
        `The learner’s own was learnt from reviews up to ${longDay(settings.trainedAt.slice(0, 10))}. Choosing it again later takes what was learnt until then.`,
      ),
    );
  const preview = h('p', { class: 'strong', 'aria-live': 'polite' });
  const show = () => {
    const chosen = /** @type {LearnerSettings['scheduler']} */ (method.value);
    about.textContent = METHODS[chosen].about;
    targetPart.hidden = chosen === 'SM2';
    // A hidden field would be checked, and nobody could see why nothing is sent.
    target.disabled = chosen === 'SM2';
    if (parametersPart) parametersPart.hidden = chosen === 'SM2';
    parameters.disabled = parametersPart === false || chosen === 'SM2';
  };
  ask(context, {
    title: 'Change the schedule',
    body: [
      field('Method', method),
      about,
      targetPart,
      parametersPart,
      preview,
      `No card moves now: each follows the new method from its next review on. Nothing is lost by going back. Days are counted in ${user.timeZone}, the time zone of the account.`,
      h(
        'label',
        { class: 'choice' },
        h('input', { type: 'checkbox', name: 'spread' }),
        'Spread now: then asks how to spread what is due over the coming days',
      ),
    ],
    submit: 'Change',
    onSubmit: async (data) => {
      const chosen = readChoice(data, settings);
      const done = (await change(user, settings, chosen))
        ? `Changed. Next reviews follow ${METHODS[chosen.scheduler].name}.`
        : 'Nothing has changed.';
      if (!data.has('spread')) return done;
      announce(done);
      await context.refresh();
      askCatchUp(context, user);
      return undefined;
    },
  });
  const form = /** @type {HTMLFormElement} */ (method.form);
  let turn = 0;
  const showPreview = async () => {
    turn += 1;
    const mine = turn;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    if (mine !== turn || !form.isConnected || !form.checkValidity()) return;
    const chosen = readChoice(new FormData(form), settings);
    const said = await request('SETTINGS_PREVIEW', { id: user.id, ...chosen }).then(
      (answer) => answer.user && wordsOf(answer.user.settingsPreview),
      explain,
    );
    // A later choice is shown instead.
    if (mine === turn && form.isConnected) preview.textContent = said;
  };
  const update = () => {
    show();
    // What it says is of the choice before.
    preview.textContent = '';
    void showPreview();
  };
  for (const input of [method, target, parameters]) input.addEventListener('input', update);
  update();
}

/** @param {User} user @param {LearnerSettings} settings @param {ReturnType<typeof readChoice>} chosen @returns Whether it changed anything. */
async function change(user, settings, chosen) {
  const { scheduler, desiredRetention, parameters } = chosen;
  const isSame =
    scheduler === settings.scheduler &&
    desiredRetention === settings.desiredRetention &&
    (scheduler === 'SM2' || user.timeZone === settings.timeZone) &&
    // Trained ones may have been trained anew.
    (parameters === null || (parameters === 'DEFAULT' && settings.parameters === 'DEFAULT'));
  if (isSame) return false;
  const { updateLearnerSettings } = await request('UPDATE_SETTINGS', {
    input: { userId: user.id, ...chosen },
  });
  return updateLearnerSettings.settings.version !== settings.version;
}

/** What the form says; a target that was not asked for or touched stays exact. @param {FormData} data @param {LearnerSettings} settings */
function readChoice(data, { desiredRetention }) {
  const percent = Number(data.get('target') ?? percentOf(desiredRetention));
  return {
    // The value of an option.
    scheduler: /** @type {LearnerSettings['scheduler']} */ (data.get('scheduler')),
    desiredRetention: percent === percentOf(desiredRetention) ? desiredRetention : percent / 100,
    // Absent where there is no choice.
    parameters: /** @type {LearnerSettings['parameters'] | null} */ (data.get('parameters')),
  };
}

/** @param {SettingsPreview} preview */
function wordsOf({ before, after }) {
  if (before.recall === null || after.recall === null) return 'Nothing is due in the next 30 days.';
  const aDay = (/** @type {number} */ reviews) => (reviews < 10 ? reviews.toFixed(1) : reviews.toFixed(0));
  return `In the next 30 days: about ${aDay(after.reviewsPerDay)} reviews a day, now ${aDay(before.reviewsPerDay)}. When asked again, about ${percentOf(after.recall)} % are remembered, now ${percentOf(before.recall)} %. Estimated for someone who reviews each card when it is due.`;
}

/** @param {Context} context @param {User} user @param {number} leechLapses */
export function askLeeches(context, user, leechLapses) {
  const value = `${leechLapses}`;
  const number = h('input', { type: 'number', name: 'lapses', min: '1', max: '99', required: true, value });
  ask(context, {
    title: 'Change what makes a leech',
    body: [
      field(
        'Times forgotten',
        number,
        'From 1 to 99. It counts at once, also for what was forgotten before.',
      ),
    ],
    submit: 'Change',
    onSubmit: async (data) => {
      const lapses = Number(data.get('lapses'));
      await request('UPDATE_SETTINGS', { input: { userId: user.id, leechLapses: lapses } });
      return `Changed. A card is a leech once it was forgotten ${counted(lapses, 'time')}.`;
    },
  });
}
