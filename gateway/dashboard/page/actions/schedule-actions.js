// How a learner’s reviews are scheduled, in words, the dialog that changes it after a preview, and that of what makes a leech.
/** @import { Context, LearnerSettings, SettingsPreview, User, Variables } from '../types.d.ts' */
import { request } from '../api.js';
import { h, nodesOf } from '../dom.js';
import { choice, field, numberInput, select } from '../fields.js';
import { counted, longDayOf, percent } from '../format.js';
import { announce, muted, table } from '../ui.js';
import { askCatchUp } from './catch-up.js';
import { ask, showPreview } from './dialog.js';

/**
 * `hasTarget`: it has a target recall, parameters, and days in the learner’s time zone.
 * @type {Readonly<Record<LearnerSettings['scheduler'], { name: string, about: string, hasTarget: boolean }>>}
 */
export const METHODS = {
  SM2: {
    name: 'SM-2',
    hasTarget: false,
    about:
      'A fixed rule: each time a material is remembered, the interval until its next review grows. Once it is forgotten, the interval starts small again.',
  },
  FSRS: {
    name: 'FSRS',
    hasTarget: true,
    about:
      'A model of memory: it estimates from the learner’s reviews of a material how fast it is forgotten. The next review is due when the chance of remembering it has fallen to the target recall.',
  },
};

/** @type {Readonly<Record<LearnerSettings['parameters'], string>>} */
const PARAMETERS = {
  DEFAULT: 'Default',
  TRAINED: 'Trained on this learner',
};

/** A share as a whole number of percent. @param {number} share */
export const percentOf = (share) => Math.round(share * 100);

/** @param {Context} context @param {User} user @param {LearnerSettings} settings */
export function askSchedule(context, user, settings) {
  const methods = Object.entries(METHODS).map(([value, { name }]) => [
    value,
    value === settings.scheduler ? `${name} (in use)` : name,
  ]);
  const method = select('scheduler', methods, settings.scheduler);
  const about = h('p', { 'aria-live': 'polite' });
  const ofTarget = targetFields(settings, user);
  const preview = h('div', { class: 'stack', 'aria-live': 'polite' });
  ask(context, {
    title: `Review schedule of ${user.email}`,
    body: [
      'The schedule decides on which day each material comes up for review.',
      field('Method', method),
      about,
      ofTarget,
      preview,
      `The date of each material’s next review stays; the review after it is set by the new method. You can change back at any time, and no review is lost. FSRS counts days in ${user.timeZone}, the learner’s time zone.`,
      choice('Then open “Catch up”, to spread what is due now over the coming days', { name: 'spread' }),
    ],
    submit: 'Change the schedule',
    onSubmit: async (data) => {
      const chosen = readChoice(data, settings);
      const done = (await change(user, settings, chosen))
        ? `Changed. Each material follows ${METHODS[chosen.scheduler].name} from its next review on.`
        : 'Nothing has changed.';
      if (!data.has('spread')) return done;
      announce(done);
      await context.refresh();
      askCatchUp(context, user);
      return undefined;
    },
  });
  const form = /** @type {HTMLFormElement} */ (method.form);
  const update = () => {
    const { about: words, hasTarget } = METHODS[/** @type {LearnerSettings['scheduler']} */ (method.value)];
    about.textContent = words;
    ofTarget.hidden = !hasTarget;
    // A hidden field would be checked, and nobody could see why nothing is sent.
    ofTarget.disabled = !hasTarget;
    // The figures until then are of the choice before.
    const chosen = readChoice(new FormData(form), settings);
    preview.replaceChildren(...nodesOf(form.checkValidity() && comparison(settings, chosen, null)));
  };
  for (const input of [method, ofTarget]) input.addEventListener('input', update);
  update();
  showPreview(preview, [method, ofTarget], async (data) => {
    const chosen = readChoice(data, settings);
    const answer = await request('SETTINGS_PREVIEW', { id: user.id, ...chosen });
    return answer.user && comparison(settings, chosen, answer.user.settingsPreview);
  });
}

/** What a method with a target is asked for. @param {LearnerSettings} settings @param {User} user */
function targetFields({ desiredRetention, parameters, trainedAt }, { timeZone }) {
  const value = percentOf(desiredRetention);
  return h(
    'fieldset',
    { class: 'stack', role: 'presentation' },
    field(
      'Target recall, in percent',
      numberInput('target', 70, 97, { value, required: true }),
      'From 70 to 97. 90 suits most learners; a higher target means more reviews.',
    ),
    trainedAt !== null &&
      field(
        'FSRS parameters',
        select('parameters', Object.entries(PARAMETERS), parameters),
        `The default suits most people. The latest training used this learner’s reviews up to ${longDayOf(trainedAt, timeZone)}. A later training takes effect only when you choose it here.`,
      ),
  );
}

/** @param {User} user @param {LearnerSettings} settings @param {ReturnType<typeof readChoice>} chosen @returns Whether it changed anything. */
async function change(user, settings, chosen) {
  const { scheduler, desiredRetention, parameters } = chosen;
  const isSame =
    scheduler === settings.scheduler &&
    desiredRetention === settings.desiredRetention &&
    (!METHODS[scheduler].hasTarget || user.timeZone === settings.timeZone) &&
    // Trained ones may have been trained anew.
    (parameters === null || (parameters === 'DEFAULT' && settings.parameters === 'DEFAULT'));
  if (isSame) return false;
  /** @type {Variables<'UPDATE_SETTINGS'>['input']} */
  const input = { userId: user.id };
  if (desiredRetention !== settings.desiredRetention) input.desiredRetention = desiredRetention;
  if (parameters !== null && (parameters !== 'DEFAULT' || settings.parameters !== 'DEFAULT'))
    input.parameters = parameters;
  // Where only the learner’s time zone has changed, the method in use takes it.
  if (scheduler !== settings.scheduler || Object.keys(input).length === 1) input.scheduler = scheduler;
  const { updateLearnerSettings } = await request('UPDATE_SETTINGS', { input });
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

const NOT_YET = '…';

/**
 * The schedule in use beside the one that was chosen, with what each is expected to bring.
 * @param {LearnerSettings} settings
 * @param {ReturnType<typeof readChoice>} chosen
 * @param {SettingsPreview | null} preview null: not known yet.
 */
function comparison(settings, chosen, preview) {
  const both = (
    /** @type {(of: Pick<LearnerSettings, 'scheduler' | 'desiredRetention'>) => string} */ words,
  ) => [words(settings), words(chosen)];
  const sides = [preview?.before, preview?.after];
  return [
    table(
      'The schedule now and after the change',
      ['Schedule', 'Now', 'After the change'],
      [
        ['Method', ...both(({ scheduler }) => METHODS[scheduler].name)],
        [
          'Target recall',
          ...both(({ scheduler, desiredRetention }) =>
            METHODS[scheduler].hasTarget
              ? percent(desiredRetention)
              : `none (${METHODS[scheduler].name} has no target)`,
          ),
        ],
        [
          'Reviews a day, next 30 days',
          ...sides.map((side) => (side ? reviewsADay(side.reviewsPerDay) : NOT_YET)),
        ],
        [
          'Remembered when reviewed (estimated by FSRS)',
          ...sides.map((side) => (side ? percent(side.recall) : NOT_YET)),
        ],
      ],
    ),
    preview !== null && h('p', { class: 'strong' }, effect(preview)),
    muted(
      'FSRS assumes that the learner reviews each material when it is due, and what is overdue today. The card “Recall today” on the overview says how well FSRS predicts for this learner.',
    ),
  ];
}

/** As many digits as an estimate has. @param {number} reviews */
const rounded = (reviews) => (reviews < 10 ? reviews.toFixed(1) : reviews.toFixed(0));

/** @param {number} reviews */
const reviewsADay = (reviews) => `about\u00a0${rounded(reviews)}`;

/** What the change does, by the figures as they are shown. @param {SettingsPreview} preview */
function effect({ before, after }) {
  if (before.recall === null || after.recall === null) return 'Nothing is due in the next 30 days.';
  const more = Number(rounded(after.reviewsPerDay)) - Number(rounded(before.reviewsPerDay));
  const [forgottenNow, forgottenThen] = [100 - percentOf(before.recall), 100 - percentOf(after.recall)];
  if (more === 0 && forgottenNow === forgottenThen) return 'Effect of the change: hardly any difference.';
  const forgotten =
    forgottenNow === forgottenThen
      ? `about as many are forgotten as now: ${forgottenNow}`
      : `about ${forgottenThen} ${forgottenThen === 1 ? 'is' : 'are'} forgotten instead of ${forgottenNow}`;
  return `Effect of the change: ${reviewsMore(more)}; of 100 reviews, ${forgotten}.`;
}

/** @param {number} more A day; negative: fewer. */
function reviewsMore(more) {
  if (more === 0) return 'about the same number of reviews a day';
  const reviews = Math.abs(more) === 1 ? 'review' : 'reviews';
  return `about ${Number(Math.abs(more).toFixed(1))} ${more < 0 ? 'fewer' : 'more'} ${reviews} a day`;
}

/** @param {Context} context @param {User} user @param {number} leechLapses */
export function askLeeches(context, user, leechLapses) {
  ask(context, {
    title: 'Change what makes a leech',
    body: [
      field(
        'Times forgotten',
        numberInput('lapses', 1, 99, { value: leechLapses, required: true }),
        'From 1 to 99. It counts at once, also for what was forgotten before.',
      ),
    ],
    submit: 'Change',
    onSubmit: async (data) => {
      const lapses = Number(data.get('lapses'));
      await request('UPDATE_SETTINGS', { input: { userId: user.id, leechLapses: lapses } });
      return `Changed. A material is a leech once it was forgotten ${counted(lapses, 'time')}.`;
    },
  });
}
