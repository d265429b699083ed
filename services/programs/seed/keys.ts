// API keys of generated learners, which nobody has: their hashes are random. Some are used, some ended and are still sent.
import { randomBytes } from 'node:crypto';
import type { UserEvent } from '../../accounts/events/sql.ts';
import { newUuid } from '../../platform/uuid.ts';

const DAY_MS = 86_400_000;
const SCOPES = [
  'materials:read',
  'materials:write',
  'reviews:read',
  'reviews:write',
  'snooze:write',
  'profile:read',
];
const NAMES = ['phone', 'laptop', 'reading list', 'flashcards', 'tablet'];
/** Shares of learners. */
const WITH_KEYS = 0.75;
const WITH_A_ROTATION = 0.3;
/** Of rotations, where the program still sends the old key. */
const STILL_SENT = 0.4;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

export type SampleKey = {
  apiKeyId: string;
  userId: string;
  name: string;
  scopes: string[];
  keyHash: Buffer;
  pepperVersion: string;
  keyPrefix: string;
  createTime: Date;
  lastUsedTime: Date | null;
  revokeTime: Date | null;
  lastRefusedTime: Date | null;
  refusedMinutes: number;
};

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
    keyPrefix: newPrefix(),
    createTime: time,
    lastUsedTime,
    revokeTime: null,
    lastRefusedTime: null,
    refusedMinutes: 0,
  });
  const event = (eventTime: Date, action: string, subjectIds: string[], actor: string): UserEvent => ({
    userId,
    eventTime,
    eventId: newUuid(eventTime),
    action,
    subjectIds,
    snoozeId: null,
    actor,
    requestId: newUuid(eventTime),
    isOfKey: true,
    isOfPerson: actor.includes('/'),
  });
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

const newPrefix = () =>
  `rmk_live_${[...randomBytes(8)].map((byte) => BASE62[byte % BASE62.length]).join('')}`;
