// Chooses the views of materials and reviews: the least that has every field which the document requests.
import type { Material } from '../../generated/gateway/resolvers.ts';
import type { MaterialView } from '../../generated/scheduling/v1/MaterialView.ts';
import type { ReviewView } from '../../generated/scheduling/v1/ReviewView.ts';

export type Views = {
  material: MaterialView;
  review: ReviewView;
  /** Whether reads of materials include long texts. */
  hasLongTexts: boolean;
};

const [SUMMARY, BASIC, FULL] = [
  'MATERIAL_VIEW_SUMMARY',
  'MATERIAL_VIEW_BASIC',
  'MATERIAL_VIEW_FULL',
] as const;
/** The least view that has each field of Material, or what the field finds its rows by. */
const VIEW_OF_FIELD: Readonly<Record<Exclude<keyof Material, '__typename'>, MaterialView>> = {
  id: SUMMARY,
  title: SUMMARY,
  nextReview: SUMMARY,
  isDue: SUMMARY,
  reviews: SUMMARY,
  snoozes: SUMMARY,
  previews: SUMMARY,
  type: BASIC,
  ef: BASIC,
  interval: BASIC,
  repetitions: BASIC,
  lastReviewed: BASIC,
  createdAt: BASIC,
  updatedAt: BASIC,
  archivedAt: BASIC,
  revision: BASIC,
  content: FULL,
  sourceUrl: FULL,
};
const fieldsOf = (view: MaterialView) =>
  Object.entries(VIEW_OF_FIELD).flatMap(([name, each]) => (each === view ? [name] : []));
const BASIC_FIELDS = fieldsOf(BASIC);
const LONG_TEXTS = fieldsOf(FULL);
const SCHEDULES = ['before', 'after'];

/** `fields`: names of all fields of the document; a superset is harmless. */
export function viewsFor(fields: ReadonlySet<string>): Views {
  const hasAny = (names: readonly string[]) => names.some((name) => fields.has(name));
  const hasLongTexts = hasAny(LONG_TEXTS);
  return {
    material: hasLongTexts ? FULL : hasAny(BASIC_FIELDS) ? BASIC : SUMMARY,
    review: hasAny(SCHEDULES) ? 'REVIEW_VIEW_FULL' : 'REVIEW_VIEW_BASIC',
    hasLongTexts,
  };
}
