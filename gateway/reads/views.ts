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

const LEVELS = ['MATERIAL_VIEW_SUMMARY', 'MATERIAL_VIEW_BASIC', 'MATERIAL_VIEW_FULL'] as const;
const [SUMMARY, BASIC, FULL] = [0, 1, 2];
/** The least view that has each field of Material, or that the field needs to find its rows by. */
const LEVEL_OF_FIELD: Readonly<Record<Exclude<keyof Material, '__typename'>, number>> = {
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
const SCHEDULES = ['before', 'after'];

/** `fields`: names of all fields of the document; a superset is harmless. */
export function viewsFor(fields: ReadonlySet<string>): Views {
  const requested = Object.entries(LEVEL_OF_FIELD).filter(([name]) => fields.has(name));
  const level = Math.max(SUMMARY, ...requested.map(([, each]) => each));
  return {
    material: LEVELS[level] ?? 'MATERIAL_VIEW_FULL',
    review: SCHEDULES.some((name) => fields.has(name)) ? 'REVIEW_VIEW_FULL' : 'REVIEW_VIEW_BASIC',
    hasLongTexts: level === FULL,
  };
}
