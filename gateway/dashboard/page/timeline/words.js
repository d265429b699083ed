// What the events of a timeline are called.
/** @import { Child, TimelineEvent, TimelineKind, User } from '../types.d.ts' */
import { h } from '../dom.js';
import { counted, fieldName, instant, isVisible, span, spoken } from '../format.js';
import { CHANNELS, outcomeOf } from '../reminder-words.js';
import { materialLink, shortId } from '../ui.js';

/** @type {Readonly<Record<TimelineKind, string>>} In the order of the filters. */
export const KINDS = {
  REVIEW: 'Reviews',
  SNOOZE: 'Snoozes',
  KEY: 'Keys',
  REMINDER: 'Reminders',
  OPERATOR: 'Operators',
};

/** Of a material, in front of its title. @type {Readonly<Record<string, string>>} */
const DONE_TO_MATERIALS = {
  createMaterial: 'Created',
  updateMaterial: 'Edited',
  archiveMaterial: 'Archived',
  restoreMaterial: 'Restored',
  deleteMaterial: 'Deleted',
  submitReview: 'Submitted a review of',
  undoReview: 'Undid the latest review of',
  snoozeMaterials: 'Snoozed',
  cancelSnooze: 'Cancelled the snooze of',
};

/** @type {Readonly<Record<string, string>>} */
const DONE = {
  createUser: 'Created the learner',
  updateUser: 'Changed the learner’s account',
  updateLearnerSettings: 'Changed how the learner’s reviews are scheduled',
  setTestClock: 'Moved the learner’s test clock',
  spreadBacklog: 'Spread the learner’s due materials over the coming days',
  exportUser: 'Exported everything that is stored about the learner',
  exportMaterials: 'Exported the learner’s materials',
  createReminder: 'Added a reminder',
  updateReminder: 'Changed a reminder',
  deleteReminder: 'Deleted a reminder',
  sendTestReminder: 'Asked for a test reminder',
  setEmailReminders: 'Switched e-mail reminders on or off',
  switchRefusedEmailOn: 'Switched e-mail reminders on again, as for all whom the mail server had refused',
  registerPushSubscription: 'Registered a push subscription',
  deletePushSubscription: 'Deleted a push subscription',
  createCalendarFeed: 'Made a calendar address',
  deleteCalendarFeed: 'Ended the calendar address',
};

/** @typedef {Pick<User, 'id' | 'timeZone'>} Learner */

/** @type {Readonly<Record<string, (user: Learner, event: TimelineEvent) => Child>>} */
const DONE_TO_KEYS = {
  createApiKey: (user, event) => ['Created the key ', key(user, event, 0)],
  rotateApiKey: (user, event) => ['Replaced the key ', key(user, event, 1), ' by ', key(user, event, 0)],
  revokeApiKey: (user, event) => ['Revoked the key ', key(user, event, 0)],
};

/** A key by its name, with its short ID. @param {Learner} user @param {TimelineEvent} event @param {number} index Of the subject. */
function key({ id: userId }, { subjectIds, apiKeys }, index) {
  const id = subjectIds[index] ?? '';
  const { name = '' } = apiKeys.find((found) => found.id === id) ?? {};
  const link = isVisible(name) && h('a', { href: `#/users/${userId}/keys/${id}` }, `“${name}”`);
  return [link, link && ' ', shortId(id)];
}

/** The actions that have words of their own. */
export const ACTIONS = [DONE_TO_MATERIALS, DONE, DONE_TO_KEYS].flatMap(Object.keys);

/** The name of an action in words. @param {string} action */
export const actionName = (action) => spoken(action.replace(/[A-Z]/g, ' $&'));

/** The event in words, without its time and who did it. @param {Learner} user @param {TimelineEvent} event @returns {Child} */
export function wordsOf(user, event) {
  const { action, review, snooze, delivery } = event;
  if (review !== null) {
    const again = span(review.after.interval);
    const undone = review.undoneAt && `. Undone ${instant(review.undoneAt, user.timeZone)}`;
    return [
      'Reviewed ',
      materials(user, event),
      `: grade ${review.quality}, due again after ${again}`,
      review.madeLeech && '. It made the material a leech',
      undone,
    ];
  }
  if (snooze !== null) {
    const until = instant(snooze.snoozeUntil, user.timeZone);
    const cancelled = snooze.cancelledAt && `. Cancelled ${instant(snooze.cancelledAt, user.timeZone)}`;
    if (snooze.spreadDays !== null) {
      const what = counted(snooze.materialCount, 'due material');
      return [`Spread ${what} over ${counted(snooze.spreadDays, 'day')}`, cancelled];
    }
    const reason = snooze.reason && [': “', h('bdi', {}, snooze.reason), '”'];
    return ['Snoozed ', materials(user, event), ` until ${until}`, reason, effectOf(snooze), cancelled];
  }
  if (delivery !== null) {
    const kind = delivery.isTest ? 'Test reminder' : 'Reminder';
    const outcome = outcomeOf(delivery, { reminder: undefined, timeZone: user.timeZone });
    return `${kind} by ${CHANNELS[delivery.channel]}. ${outcome}`;
  }
  const name = action ?? '';
  if (Object.hasOwn(DONE_TO_KEYS, name)) return DONE_TO_KEYS[name]?.(user, event);
  const fields = event.fields.length > 0 && `: ${event.fields.map(fieldName).join(', ')}`;
  if (Object.hasOwn(DONE_TO_MATERIALS, name))
    return [`${DONE_TO_MATERIALS[name]} `, materials(user, event), fields];
  return [DONE[name] ?? actionName(name), fields];
}

/** What a snooze did not do. @param {NonNullable<TimelineEvent['snooze']>} snooze */
function effectOf({ movedMaterials, materialCount }) {
  if (movedMaterials === materialCount) return null;
  if (movedMaterials === 0) return '. No effect: due later anyway';
  return `. No effect on ${counted(materialCount - movedMaterials, 'material')}: due later anyway`;
}

/** An event names so many materials at most; the end of a spread can be about more. */
const MAX_SUBJECTS = 100;

/** A link to the first material, and how many others there are. @param {Learner} user @param {TimelineEvent} event @returns {Child} */
function materials(user, { action, material, subjectIds }) {
  const others = subjectIds.length - 1;
  const atLeast = action === 'cancelSnooze' && subjectIds.length === MAX_SUBJECTS ? 'at least ' : '';
  const first = material
    ? materialLink(user.id, material.id, material.title)
    : ['the material ', shortId(subjectIds[0] ?? '')];
  return others > 0 ? [first, ` and ${atLeast}${counted(others, 'other')}`] : first;
}

/** @type {Readonly<Record<string, string>>} */
const PROGRAMS = { rest: 'API', keys: 'npm run keys', users: 'npm run users', start: 'npm start' };

/** A person without the program that names them, the key of a request, or else the program; empty where it is not known. @param {Pick<TimelineEvent, 'actor' | 'apiKey'>} event */
export function actorName({ actor, apiKey }) {
  if (apiKey !== null) return `Key “${isVisible(apiKey.name) ? apiKey.name : `…${apiKey.id.slice(-8)}`}”`;
  return actor?.replace(/^\w+$/, (name) => PROGRAMS[name] ?? name).replace(/^gateway\/(?=.)/, '');
}
