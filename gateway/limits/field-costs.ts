// The cost of fields: calls to services, rows of lists without a page size, long texts.

/** The unit of cost: bytes of a field's name and a short value in the response. */
export const BYTES_OF_COST = 256;

type Call = { cost: number; rpcs: number };
/** Batched with other requests. */
const SHARED: Call = { cost: 10, rpcs: 1 };
const OWN: Call = { cost: 100, rpcs: 1 };
/** Reads the complete history of a user. */
const STATISTIC: Call = { cost: 500, rpcs: 1 };
/** Some call accounts before scheduling. */
const MUTATION: Call = { cost: 100, rpcs: 2 };
/** By an ID: a key, the owner of a material, the material and the users. */
const SEARCH: Call = { cost: 400, rpcs: 4 };
const NONE: Call = { cost: 0, rpcs: 0 };

const CALLS: Readonly<Record<string, Call>> = {
  'Query.user': SHARED,
  'Query.users': OWN,
  'Query.search': SEARCH,
  'Query.overview': OWN,
  'Query.learners': { cost: 200, rpcs: 2 },
  'Query.refusedApiKeys': { cost: 200, rpcs: 2 },
  'Query.emailOffUsers': { cost: 200, rpcs: 2 },
  'Query.material': OWN,
  'User.materials': SHARED,
  'User.materialCounts': OWN,
  'User.dueMaterials': SHARED,
  'User.reviews': OWN,
  'User.snoozes': OWN,
  'User.apiKeys': OWN,
  // Reviews, snoozes, deliveries and events.
  'User.timeline': { cost: 400, rpcs: 4 },
  'Query.pushPublicKey': OWN,
  'User.reminders': OWN,
  'User.reminderDeliveries': OWN,
  'User.pushSubscriptions': OWN,
  'User.calendarFeed': OWN,
  'User.emailReminders': OWN,
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

/** The calls of a single field. `isLater`: it continues from within a page, which is read again. */
export function callOf(field: string, { isLater, isSearch }: { isLater: boolean; isSearch: boolean }): Call {
  if (field.startsWith('Mutation.')) return MUTATION;
  const call = isSearch ? OWN : (CALLS[field] ?? NONE);
  return isLater ? { cost: 2 * call.cost, rpcs: 2 * call.rpcs } : call;
}

/** The cost per row of a field that its list prefetches in one call (joins.ts). */
export const JOINED_COST = 10;
export const JOINED: ReadonlySet<string> = new Set([
  'Material.reviews',
  'Review.material',
  'TimelineEvent.material',
]);
/** The lists that prefetch. */
export const JOINING: ReadonlySet<string> = new Set([
  'User.materials',
  'User.dueMaterials',
  'User.reviews',
  'User.timeline',
  'Stats.hardestMaterials',
  'Snooze.materials',
]);

/** Maximum rows of lists without a page size. */
export const ROWS: Readonly<Record<string, number>> = {
  'Query.search': 10,
  'Overview.days': 60,
  'Snooze.materials': 100,
  'Material.previews': 6,
  'Forecast.days': 366,
  'Activity.days': 366,
  'Retention.days': 366,
  'Retention.bands': 5,
  'Distributions.easeFactors': 100,
  'Distributions.intervals': 5,
  'Distributions.grades': 6,
  'User.reminders': 10,
  'User.pushSubscriptions': 10,
  'TestReminderPayload.deliveries': 10,
  'TimelineConnection.missing': 5,
};

/** Maximum size of texts beyond one unit, escaped for JSON; for content and sourceUrl: the cost of reading them. */
export const LONG: Readonly<Record<string, number>> = {
  'Material.content': 80,
  'Material.sourceUrl': 80,
  'Material.title': 5,
  'Snooze.reason': 11,
  'Snooze.materialIds': 15,
  'CancelSnoozePayload.materialIds': 15,
  'TimelineEvent.subjectIds': 15,
  'TimelineEvent.actor': 1,
  'User.email': 1,
  'User.firstName': 2,
  'User.lastName': 2,
  'ApiKey.name': 2,
  'PageInfo.startCursor': 1,
  'PageInfo.endCursor': 1,
  'UserEdge.cursor': 1,
  'ReminderDelivery.failure': 2,
  'ReminderDeliveryEdge.cursor': 1,
  'ApiKeyEdge.cursor': 1,
  'MaterialEdge.cursor': 1,
  'ReviewEdge.cursor': 1,
  'SnoozeEdge.cursor': 1,
  'HardMaterialEdge.cursor': 1,
  'LearnerEdge.cursor': 1,
  'RefusedApiKeyEdge.cursor': 1,
  'EmailOffUserEdge.cursor': 1,
  '__Type.description': 2,
  '__Field.description': 2,
  '__Directive.description': 2,
  '__InputValue.description': 1,
  '__EnumValue.description': 1,
};
