// The public contract written down once more by hand, from the specification's tables and from nothing in services/.
import { expect } from 'vitest';

type Check = (value: unknown) => boolean;
type Fields = Record<string, { check: Check; required?: boolean }>;

const SCOPES = [
  'materials:read',
  'materials:write',
  'reviews:read',
  'reviews:write',
  'snooze:write',
  'profile:read',
];
const isString: Check = (value) => typeof value === 'string';
const isInteger: Check = (value) => Number.isInteger(value);
const isDateTime: Check = (value) =>
  typeof value === 'string' &&
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value) &&
  !Number.isNaN(Date.parse(value));
const isUri: Check = (value) => typeof value === 'string' && /^[A-Za-z][A-Za-z0-9+.-]*:/.test(value);
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);
const oneOf =
  (...values: unknown[]): Check =>
  (value) =>
    values.includes(value);
const arrayOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
const object =
  (fields: Fields): Check =>
  (value) =>
    hasFields(value, fields);

function hasFields(value: unknown, fields: Fields): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const known = Object.keys(value).every((name) => name in fields);
  return (
    known &&
    Object.entries(fields).every(([name, { check, required = true }]) => {
      const field = (value as Record<string, unknown>)[name];
      return name in value ? check(field) : !required;
    })
  );
}

/** Section 2.1. */
const material = object({
  id: { check: isString },
  title: { check: isString },
  content: { check: orNull(isString) },
  sourceUrl: { check: orNull(isUri) },
  type: { check: oneOf('simple', 'material', 'flashcard', 'card') },
  ef: { check: (value) => typeof value === 'number' && value >= 1.3 },
  interval: { check: isInteger },
  repetitions: { check: isInteger },
  nextReview: { check: orNull(isDateTime) },
  lastReviewed: { check: orNull(isDateTime) },
  createdAt: { check: isDateTime },
  updatedAt: { check: isDateTime },
});
/** Section 2.2. */
const me = object({
  id: { check: isString },
  email: { check: (value) => typeof value === 'string' && value.includes('@') },
  firstName: { check: orNull(isString), required: false },
  lastName: { check: orNull(isString), required: false },
  plan: { check: isString },
  apiKeyId: { check: isString },
  scopes: { check: arrayOf(oneOf(...SCOPES)) },
});
/** Sections 2.4, 4.3, 2.6 and 2.7. */
const materials = object({ materials: { check: arrayOf(material) } });
const created = object({ material: { check: material } });
const reviewed = object({
  material: { check: material },
  review: {
    check: object({
      quality: { check: oneOf(0, 1, 2, 3, 4, 5) },
      reviewedAt: { check: isDateTime },
      previousDueAt: { check: orNull(isDateTime) },
    }),
  },
});
const snoozed = object({
  snooze: {
    check: object({
      id: { check: isString },
      materialIds: { check: arrayOf(isString) },
      snoozeUntil: { check: isDateTime },
      reason: { check: isString },
      createdAt: { check: isDateTime },
    }),
  },
});

/** Section 7, with the two codes that decisions add for faults of the service itself. */
const CODES: Record<number, string[]> = {
  400: ['invalid_request'],
  401: ['unauthorized'],
  403: ['insufficient_scope'],
  404: ['not_found'],
  429: ['rate_limited'],
  500: ['internal_error'],
  503: ['unavailable'],
};

export type Endpoint = {
  method: 'GET' | 'POST';
  path: string;
  success: number;
  body: Check;
  /** Any one is enough. */
  scopes: readonly string[];
  /** Documented statuses beside the success; 400 on the lists is section 7's general rule. */
  errors: readonly number[];
};

/** Section 4. */
export const ENDPOINTS: readonly Endpoint[] = [
  { method: 'GET', path: '/me', success: 200, body: me, scopes: [], errors: [401] },
  {
    method: 'GET',
    path: '/materials',
    success: 200,
    body: materials,
    scopes: ['materials:read'],
    errors: [400, 401, 403],
  },
  {
    method: 'POST',
    path: '/materials',
    success: 201,
    body: created,
    scopes: ['materials:write'],
    errors: [400, 401, 403, 429],
  },
  {
    method: 'GET',
    path: '/reviews/due',
    success: 200,
    body: materials,
    scopes: ['reviews:read', 'materials:read'],
    errors: [400, 401, 403],
  },
  {
    method: 'POST',
    path: '/reviews/{materialId}',
    success: 200,
    body: reviewed,
    scopes: ['reviews:write'],
    errors: [400, 401, 403, 404, 429],
  },
  {
    method: 'POST',
    path: '/materials/{materialId}/snooze',
    success: 201,
    body: snoozed,
    scopes: ['snooze:write'],
    errors: [400, 401, 403, 404, 429],
  },
  {
    method: 'GET',
    path: '/search',
    success: 200,
    body: materials,
    scopes: ['materials:read'],
    errors: [400, 401, 403],
  },
];

export type Answer = { status: number; headers: Headers; body: unknown };

/** Fails unless the answer is one that the contract allows for this endpoint; undefined: a path outside the API. */
export function expectWithinContract(endpoint: Endpoint | undefined, answer: Answer): void {
  const { status, headers, body } = answer;
  const isJson = headers.get('content-type') === 'application/json; charset=utf-8';
  if (isJson && status === endpoint?.success && endpoint.body(body)) return;
  // A body may have megabytes: its text is made only from here on.
  const context = `${endpoint?.method} ${endpoint?.path} -> ${status} ${JSON.stringify(body)?.slice(0, 300)}`;
  expect(headers.get('content-type'), context).toBe('application/json; charset=utf-8');
  if (endpoint !== undefined && status === endpoint.success) {
    expect(endpoint.body(body), context).toBe(true);
    return;
  }
  // 400 and 404 can also come from the path itself, before any endpoint is found.
  expect([...(endpoint?.errors ?? []), 400, 404], context).toContain(status);
  expect(isErrorBody(status, body), context).toBe(true);
  if (status === 401) expect(headers.get('www-authenticate'), context).toBe('Bearer');
  if (status === 429) expect(headers.get('retry-after'), context).toMatch(/^[1-9]\d*$/);
}

export function isErrorBody(status: number, body: unknown): boolean {
  // Bytes that are not even HTTP have no field that could be named.
  const details: Record<number, Fields[string]> = {
    400: { check: object({ field: { check: isString } }), required: false },
    403: { check: object({ requiredScopes: { check: arrayOf(oneOf(...SCOPES)) } }) },
  };
  const error: Fields = {
    code: { check: oneOf(...(CODES[status] ?? [])) },
    message: { check: (value) => typeof value === 'string' && value.length > 0 },
    ...(details[status] && { details: details[status] }),
  };
  return hasFields(body, { error: { check: object(error) } });
}
