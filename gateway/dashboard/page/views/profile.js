// A learner’s account: what it holds, how it is changed, exported and deleted; and how the reviews are scheduled.
/** @import { Context, Data, User } from '../types.d.ts' */
import { askDelete, exportButtons, profileForm } from '../actions/profile-actions.js';
import { askLeeches, askSchedule, METHODS, percentOf } from '../actions/schedule-actions.js';
import { FailedCallError, request } from '../api.js';
import { h } from '../dom.js';
import { counted, instant } from '../format.js';
import { ifAnswered, missingPart } from '../parts.js';
import { actions, button, card, facts, muted } from '../ui.js';
import { learnerPage } from './learner-page.js';

export const profileView = learnerPage({
  tab: 'Profile',
  title: ({ email }) => `Profile of ${email}`,
  // The account is shown also while scheduling does not answer.
  ask: async ({ ids: [id = ''] }) => ({ read: await ifAnswered(request('SETTINGS', { id })) }),
  show: (context, user, { read }) =>
    h(
      'div',
      { class: 'grid' },
      profileCard(context, user),
      h(
        'div',
        { class: 'stack' },
        scheduleCard(context, user, read),
        leechCard(context, user, read),
        dataCards(context, user),
      ),
    ),
  missing: 'The profile is not available.',
});

/** @param {Context} context @param {User} user */
function profileCard(context, user) {
  const since = muted(`Since ${instant(user.createdAt, user.timeZone)}`);
  return card('Profile', context.mayChange ? profileForm(context, user) : account(user), since);
}

/** @param {Context} context @param {User} user @param {Data<'SETTINGS'> | FailedCallError} read */
function scheduleCard(context, user, read) {
  if (read instanceof FailedCallError)
    return missingPart('How reviews are scheduled is not available.', read, context.refresh);
  if (read.user === null) return null;
  const { settings } = read.user;
  const { name, about, hasTarget } = METHODS[settings.scheduler];
  const target = percentOf(settings.desiredRetention);
  return card(
    'Review schedule',
    h('p', { class: 'strong' }, name),
    about,
    hasTarget &&
      h(
        'p',
        {},
        `Target recall: ${target} %. Days are counted in ${settings.timeZone}.`,
        settings.parameters === 'TRAINED' && ' FSRS uses parameters trained on this learner’s reviews.',
      ),
    context.mayChange &&
      actions(button('Change …', () => askSchedule(context, user, settings), { id: 'change-schedule' })),
  );
}

/** @param {Context} context @param {User} user @param {Data<'SETTINGS'> | FailedCallError} read */
function leechCard(context, user, read) {
  if (read instanceof FailedCallError || read.user === null) return null;
  const { leechLapses } = read.user.settings;
  return card(
    'Leeches',
    `A material that was forgotten ${counted(leechLapses, 'time')} is marked as a leech.`,
    context.mayChange &&
      actions(button('Change …', () => askLeeches(context, user, leechLapses), { id: 'change-leeches' })),
  );
}

/** @param {User} user */
function account({ email, firstName, lastName, plan, timeZone }) {
  return facts([
    ['E-mail address', h('bdi', {}, email)],
    ['First name', h('bdi', {}, firstName ?? '–')],
    ['Last name', h('bdi', {}, lastName ?? '–')],
    ['Plan', plan.toLowerCase()],
    ['Time zone', timeZone],
  ]);
}

/** @param {Context} context @param {User} user */
function dataCards(context, user) {
  if (!context.mayChange)
    return card('Data', 'Exporting and deleting a learner need a token with the role operator.');
  return [
    card(
      'Export',
      'Everything that is stored about the learner, as one JSON file: profile, keys without the keys themselves, their requests, what was done in the last 90 days, materials, reviews, snoozes, settings, reminders and their deliveries.',
      actions(...exportButtons(user)),
    ),
    card(
      'Delete',
      'Removes the learner and all of this data permanently.',
      actions(button('Delete …', () => askDelete(context, user), { class: 'danger', id: 'delete-user' })),
    ),
  ];
}
