// API keys of generated learners. Nobody can use them, since their hashes are random. Some have requests; some have ended but are still
// sent.
import { randomBytes } from 'node:crypto';
import type { UserEvent } from '../../accounts/events/sql.ts';
import { KEPT_DAYS } from '../../accounts/keys/requests-sql.ts';
import { generateKey, prefixOf, SCOPES } from '../../accounts/keys/rules.ts';
import type { ApiKey } from '../../accounts/keys/sql.ts';
import { newUuid } from '../../platform/uuid.ts';

const DAY_MS = 86_400_000;
const NAMES = ['phone', 'laptop', 'reading list', 'flashcards', 'tablet'];
/** Shares of learners. */
const WITH_KEYS = 0.75;
const WITH_A_ROTATION = 0.3;
/** Of rotations, where the program still sends the old key. */
const STILL_SENT = 0.4;

export type SampleKey = Omit<ApiKey, 'expireTime' | 'allowedAddresses'> & {
  keyHash: Buffer;
  pepperVersion: string;
};

export function newEvent(
  event: Pick<UserEvent, 'userId' | 'eventTime' | 'action' | 'subjectIds' | 'actor' | 'isOfKey'> &
    Partial<Pick<UserEvent, 'fields'>>,
): UserEvent {
  const { eventTime, actor } = event;
  const ids = { eventId: newUuid(eventTime), requestId: newUuid(eventTime) };
  const { fields = [] } = event;
  return { ...event, ...ids, fields, snoozeId: null, isOfPerson: actor.includes('/') };
}

/** A key and its events; for some a second one, that was rotated: the old key is revoked. `isShown`: has all of it. */
export function makeKeys(
  { userId, createTime, lastUsedTime }: { userId: string; createTime: Date; lastUsedTime: Date | null },
  { now, isShown }: { now: Date; isShown: boolean },
): { keys: SampleKey[]; events: UserEvent[] } {
  if (!isShown && Math.random() >= WITH_KEYS) return { keys: [], events: [] };
  const daysAgo = (days: number) =>
    new Date(
      Math.max(
        createTime.getTime() + 60_000,
        now.getTime() - days * DAY_MS - Math.floor(Math.random() * DAY_MS),
      ),
    );
  const newKey = (name: string, time: Date): SampleKey => ({
    apiKeyId: newUuid(time),
    userId,
    name,
    scopes: SCOPES,
    keyHash: randomBytes(32),
    pepperVersion: '1',
    keyPrefix: prefixOf(generateKey(randomBytes)),
    createTime: time,
    lastUsedTime,
    revokeTime: null,
    lastRefusedTime: null,
    refusedMinutes: 0,
  });
  const event = (eventTime: Date, action: string, subjectIds: string[], actor: string) =>
    newEvent({ userId, eventTime, action, subjectIds, actor, isOfKey: true });
  const [name = '', other = ''] = NAMES.toSorted(() => Math.random() - 0.5);
  const first = newKey(name, daysAgo(60));
  const events = [event(first.createTime, 'createApiKey', [first.apiKeyId], 'keys')];
  if (!isShown && Math.random() >= WITH_A_ROTATION) return { keys: [first], events };
  const revokeTime = daysAgo(9);
  const isSent = isShown || Math.random() < STILL_SENT;
  const lastRefusedTime = isSent ? new Date(now.getTime() - Math.floor(Math.random() * DAY_MS)) : null;
  const old = {
    ...newKey(other, daysAgo(50)),
    lastUsedTime: revokeTime,
    revokeTime,
    lastRefusedTime,
    refusedMinutes: isSent ? 37 : 0,
  };
  const replacement = newKey(other, daysAgo(12));
  return {
    keys: [first, old, replacement],
    events: [
      ...events,
      event(old.createTime, 'createApiKey', [old.apiKeyId], 'keys'),
      event(replacement.createTime, 'rotateApiKey', [replacement.apiKeyId, old.apiKeyId], 'gateway/olga'),
      event(revokeTime, 'revokeApiKey', [old.apiKeyId], 'gateway/olga'),
    ],
  };
}

/** Rows of accounts.key_requests and accounts.refused_requests. */
export type SampleRequests = {
  counts: { apiKeyId: string; day: string; route: string; status: number; requests: number }[];
  refused: (Omit<Sent, 'time'> & { refuseTime: Date; requestId: string })[];
};
type Sent = { apiKeyId: string; time: Date; route: string; status: number; field: string };

const DUE = 'GET /v1/reviews/due';
const REVIEW = 'POST /v1/reviews/:materialId';
/** Reviews for which the app asks once what is due. */
const REVIEWS_A_LIST = 10;

/** The requests of the days that are kept: reviews with the first key, and one mistake; lists with each; one a day with a key that ended. */
export function makeRequests(
  keys: readonly SampleKey[],
  materials: readonly { reviews: readonly { reviewTime: Date }[] }[],
  now: Date,
): SampleRequests {
  const sinceMs = now.getTime() - (KEPT_DAYS - 1) * DAY_MS;
  const sent: Sent[] = [];
  const send = ({ apiKeyId }: SampleKey, time: Date, route: string, status = 200, field = '') =>
    sent.push({ apiKeyId, time, route, status, field });
  const reviewTimes = materials.flatMap(({ reviews }) => reviews.map(({ reviewTime }) => reviewTime));
  const valid = keys.filter(({ revokeTime }) => revokeTime === null);
  for (const [position, key] of valid.entries()) {
    const times = reviewTimes.filter((time) => time.getTime() > sinceMs && time >= key.createTime);
    for (const [index, time] of times.entries()) {
      if (position === 0) send(key, time, REVIEW);
      if (position === 0 && index === 0) send(key, time, REVIEW, 400, 'quality');
      if (index % REVIEWS_A_LIST === 0) send(key, time, DUE);
    }
  }
  for (const key of keys)
    for (let ms = key.lastRefusedTime?.getTime() ?? 0; ms > sinceMs; ms -= DAY_MS)
      send(key, new Date(ms), DUE, 401);
  const counts = new Map<string, SampleRequests['counts'][number]>();
  for (const { apiKeyId, time, route, status } of sent) {
    const day = time.toISOString().slice(0, 10);
    const name = [apiKeyId, day, route, status].join();
    const { requests } = counts.get(name) ?? { requests: 0 };
    counts.set(name, { apiKeyId, day, route, status, requests: requests + 1 });
  }
  const refused = sent
    .filter(({ status }) => status >= 400)
    .map(({ time, ...rest }) => ({ ...rest, refuseTime: time, requestId: newUuid(time) }));
  return { counts: [...counts.values()], refused };
}
