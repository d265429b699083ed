// What each field may cost: calls to the services, rows of lists that have no page size, texts that are long.

/** The unit of cost: what a field may add to the answer, its name and an instant, number or id. */
export const BYTES_OF_COST = 256;

export const MAX_ROWS = 100;
export const DEFAULT_ROWS = 20;

type Call = { cost: number; rpcs: number };
/** Batched with its like. */
const SHARED: Call = { cost: 10, rpcs: 1 };
const OWN: Call = { cost: 100, rpcs: 1 };
/** Reads a learner's whole history. */
const STATISTIC: Call = { cost: 500, rpcs: 1 };
/** Some ask accounts before they ask scheduling. */
const MUTATION: Call = { cost: 100, rpcs: 2 };
const NONE: Call = { cost: 0, rpcs: 0 };

const CALLS: Readonly<Record<string, Call>> = {
  'Query.user': SHARED,
  'Query.users': OWN,
  'Query.material': OWN,
  'User.materials': SHARED,
  'User.dueMaterials': SHARED,
  'User.reviews': OWN,
  'User.snoozes': OWN,
  'User.apiKeys': OWN,
  'Material.reviews': OWN,
  'Material.snoozes': OWN,
  'Material.previews': OWN,
  'Review.material': OWN,
  'Snooze.materials': OWN,
  'Stats.forecast': STATISTIC,
  'Stats.activity': STATISTIC,
  'Stats.retention': STATISTIC,
  'Stats.distributions': STATISTIC,
  'Stats.hardestMaterials': STATISTIC,
};

/** The calls of a field by itself. `isLater`: it goes on from the middle of a page, which is read again for it. */
export function callOf(field: string, { isLater, isSearch }: { isLater: boolean; isSearch: boolean }): Call {
  if (field.startsWith('Mutation.')) return MUTATION;
  const call = isSearch ? OWN : (CALLS[field] ?? NONE);
  return isLater ? { cost: 2 * call.cost, rpcs: 2 * call.rpcs } : call;
}

/** What a field costs for each row of a list that reads it for all of its rows by one call: see joins.ts. */
export const JOINED_COST = 10;
export const JOINED: ReadonlySet<string> = new Set(['Material.reviews', 'Review.material']);
/** The lists that do. */
export const JOINING: ReadonlySet<string> = new Set([
  'User.materials',
  'User.dueMaterials',
  'User.reviews',
  'Stats.hardestMaterials',
  'Snooze.materials',
]);

/** The most rows of each list that has no page size. */
export const ROWS: Readonly<Record<string, number>> = {
  'Snooze.materials': 100,
  'Material.previews': 6,
  'Forecast.days': 366,
  'Activity.days': 366,
  'Retention.days': 366,
  'Retention.bands': 5,
  'Distributions.easeFactors': 100,
  'Distributions.intervals': 5,
  'Distributions.grades': 6,
};

/** What a text or a list of texts may hold beyond one unit, escaped for JSON; content and sourceUrl: what reading them costs. */
export const LONG: Readonly<Record<string, number>> = {
  'Material.content': 80,
  'Material.sourceUrl': 80,
  'Material.title': 5,
  'Snooze.reason': 11,
  'Snooze.materialIds': 15,
  'User.email': 1,
  'User.firstName': 2,
  'User.lastName': 2,
  'ApiKey.name': 2,
  'PageInfo.startCursor': 1,
  'PageInfo.endCursor': 1,
  'UserEdge.cursor': 1,
  'ApiKeyEdge.cursor': 1,
  'MaterialEdge.cursor': 1,
  'ReviewEdge.cursor': 1,
  'SnoozeEdge.cursor': 1,
  'HardMaterialEdge.cursor': 1,
  '__Type.description': 2,
  '__Field.description': 2,
  '__Directive.description': 2,
  '__InputValue.description': 1,
  '__EnumValue.description': 1,
};
