// Chooses the views of materials and reviews: long texts and schedules of reviews are read only if the document requests them.
import type { MaterialView } from '../../generated/scheduling/v1/MaterialView.ts';
import type { ReviewView } from '../../generated/scheduling/v1/ReviewView.ts';

export type Views = {
  material: MaterialView;
  review: ReviewView;
  /** Whether reads of materials include long texts. */
  hasLongTexts: boolean;
};

const LONG_TEXTS = ['content', 'sourceUrl'];
const SCHEDULES = ['before', 'after'];

/** `fields`: names of all fields of the document; a superset is harmless. */
export function viewsFor(fields: ReadonlySet<string>): Views {
  const hasLongTexts = LONG_TEXTS.some((name) => fields.has(name));
  return {
    material: hasLongTexts ? 'MATERIAL_VIEW_FULL' : 'MATERIAL_VIEW_BASIC',
    review: SCHEDULES.some((name) => fields.has(name)) ? 'REVIEW_VIEW_FULL' : 'REVIEW_VIEW_BASIC',
    hasLongTexts,
  };
}
