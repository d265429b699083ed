// Undoes an archive, a snooze or a review from the timeline, where nothing has happened since that it would contradict.
/** @import { Context, TimelineEvent, User } from '../types.d.ts' */
import { request } from '../api.js';
import { counted, DAY_MS, nowOf, titleOf } from '../format.js';
import { act, button } from '../ui.js';

/**
 * The button of an event; null where there is nothing to undo.
 * @param {Context} context
 * @param {User} user
 * @param {TimelineEvent} event
 * @param {readonly TimelineEvent[]} known Among others all that are later.
 */
export function undoButton(context, user, event, known) {
  const { snooze, review, material, action } = event;
  if (snooze !== null && snooze.cancellableMaterials > 0)
    return undo(context, `snooze of ${nameOf(event)}`, async () => {
      const input = { userId: user.id, snoozeId: snooze.id };
      const { materialIds } = (await request('CANCEL_SNOOZE', { input })).cancelSnooze;
      if (materialIds.length === 0) return 'Nothing to undo: no material waits for this snooze any more.';
      return `Undone: ${counted(materialIds.length, 'material')} due as before the snooze`;
    });
  if (review !== null && canUndo(event, user, known))
    return undo(context, `review of ${nameOf(event)}`, async () => {
      await request('UNDO_REVIEW', { input: { userId: user.id, reviewId: review.id } });
      return `Undone: the review of ${nameOf(event)}, due as before it`;
    });
  if (action !== 'archiveMaterial' || material === null || material.archivedAt === null) return null;
  // An earlier archive was undone already.
  const latest = known.find((other) => other.action === action && other.material?.id === material.id);
  if (event !== latest) return null;
  return undo(context, `archive of ${nameOf(event)}`, async () => {
    await request('RESTORE', { input: { userId: user.id, materialId: material.id } });
    return `Restored: ${titleOf(material.title)}`;
  });
}

/**
 * Whether it was made here, nothing has changed the material since but reviews that were undone, and a day has not passed.
 * @param {TimelineEvent} event
 * @param {User} user
 * @param {readonly TimelineEvent[]} known
 */
function canUndo({ review, material }, user, known) {
  if (review === null || review.undoneAt !== null || material === null) return false;
  // One that came with an import has no revision of its own.
  if (review.revision < 1) return false;
  if (nowOf(user) - Date.parse(review.reviewedAt) >= DAY_MS) return false;
  const isUndoneSince = (/** @type {TimelineEvent} */ later) =>
    later.review !== null &&
    later.review.undoneAt !== null &&
    later.review.revision > review.revision &&
    later.material?.id === material.id;
  // A review and its undo are a revision each.
  return material.revision === review.revision + 2 * known.filter(isUndoneSince).length;
}

/** @param {TimelineEvent} event */
const nameOf = ({ material, subjectIds }) =>
  material ? titleOf(material.title) : `…${subjectIds[0]?.slice(-8)}`;

/** @param {Context} context @param {string} what @param {() => Promise<string>} work Resolves to what was done. */
const undo = (context, what, work) =>
  button('Undo', () => act(context, work), { 'aria-label': `Undo the ${what}` });
