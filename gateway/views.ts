// How much of materials and reviews a request needs: long texts, and schedules before and after a review, are read and sent
// only where its document names a field that shows them.
import type { MaterialView } from '../generated/scheduling/v1/MaterialView.ts';
import type { ReviewView } from '../generated/scheduling/v1/ReviewView.ts';

export type Views = {
  material: MaterialView;
  review: ReviewView;
  /** How materials are read: by themselves where they come with texts that may be long. */
  lane: 'own' | 'large';
};

const LONG_TEXTS = ['content', 'sourceUrl'];
const SCHEDULES = ['before', 'after'];

/** `fields`: the names of all fields of the document, wherever in it: one too many is harmless. */
export function viewsFor(fields: ReadonlySet<string>): Views {
  const isLarge = LONG_TEXTS.some((name) => fields.has(name));
  return {
    material: isLarge ? 'MATERIAL_VIEW_FULL' : 'MATERIAL_VIEW_BASIC',
    review: SCHEDULES.some((name) => fields.has(name)) ? 'REVIEW_VIEW_FULL' : 'REVIEW_VIEW_BASIC',
    lane: isLarge ? 'large' : 'own',
  };
}
