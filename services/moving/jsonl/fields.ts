// The lines of our JSONL form: which field of a message has which name there. A test holds that none is missing.
import { parseDateTime, toTimestamp } from '../../platform/instants.ts';
import { isObject, isStorable } from '../../platform/text.ts';
import type { MaterialType } from '../card.ts';
import { TYPE_MESSAGES } from '../record.ts';

/** `positive`: a whole number that is left out where it is 0. */
type Type = 'text' | 'texts' | 'number' | 'numbers' | 'whole' | 'positive' | 'time' | 'type' | 'enum' | Shape;
/** By the name in the line: the name in the message, and the type. */
export type Shape = Readonly<Record<string, readonly [field: string, type: Type]>>;

export const SCHEDULE: Shape = {
  ef: ['easeFactor', 'number'],
  interval: ['intervalDays', 'whole'],
  repetitions: ['repetitions', 'whole'],
  nextReview: ['nextReviewTime', 'time'],
};

export const MATERIAL: Shape = {
  id: ['materialId', 'text'],
  title: ['title', 'text'],
  content: ['content', 'text'],
  sourceUrl: ['sourceUrl', 'text'],
  type: ['type', 'type'],
  labels: ['labels', 'texts'],
  ...SCHEDULE,
  lastReviewed: ['lastReviewedTime', 'time'],
  createdAt: ['createTime', 'time'],
  updatedAt: ['updateTime', 'time'],
  archivedAt: ['archiveTime', 'time'],
  revision: ['revision', 'whole'],
};

export const BASELINE: Shape = {
  importedAt: ['importTime', 'time'],
  sourceUpdatedAt: ['sourceUpdateTime', 'time'],
  textDigest: ['textDigest', 'text'],
  revision: ['revision', 'whole'],
  schedule: ['schedule', SCHEDULE],
  lastReviewed: ['lastReviewedTime', 'time'],
};

export const REVIEW: Shape = {
  id: ['reviewId', 'text'],
  materialId: ['materialId', 'text'],
  quality: ['quality', 'whole'],
  reviewedAt: ['reviewTime', 'time'],
  before: ['before', SCHEDULE],
  after: ['after', SCHEDULE],
  revision: ['revision', 'whole'],
  requestId: ['requestId', 'text'],
  apiKeyId: ['apiKeyId', 'text'],
  scheduler: ['scheduler', 'enum'],
  settingsVersion: ['settingsVersion', 'whole'],
  undoneAt: ['undoTime', 'time'],
  undoActor: ['undoActor', 'text'],
  undoRevision: ['undoRevision', 'positive'],
};

export const SNOOZE: Shape = {
  id: ['snoozeId', 'text'],
  snoozeUntil: ['snoozeUntilTime', 'time'],
  reason: ['reason', 'text'],
  createdAt: ['createTime', 'time'],
  actor: ['actor', 'text'],
  requestId: ['requestId', 'text'],
  apiKeyId: ['apiKeyId', 'text'],
  cancelledAt: ['cancelTime', 'time'],
  spreadDays: ['spreadDays', 'positive'],
};

export const SNOOZE_OF_MATERIAL: Shape = {
  snooze: ['snooze', SNOOZE],
  position: ['position', 'whole'],
  revision: ['revision', 'whole'],
  beforeNextReview: ['beforeNextReviewTime', 'time'],
  afterNextReview: ['afterNextReviewTime', 'time'],
  cancelRevision: ['cancelRevision', 'whole'],
};

/** A version of the learner's settings: reviews name the one that they were scheduled with. */
export const SETTINGS: Shape = {
  version: ['version', 'whole'],
  scheduler: ['scheduler', 'enum'],
  desiredRetention: ['desiredRetention', 'number'],
  timeZone: ['timeZone', 'text'],
  parameters: ['parameters', 'numbers'],
  leechLapses: ['leechLapses', 'whole'],
  createdAt: ['createTime', 'time'],
};

type Values = Readonly<Record<string, unknown>>;
const TYPES = Object.entries(TYPE_MESSAGES) as [MaterialType, string][];

/** A message as the fields of a line. What is absent, and an empty text that stands for it, is left out. */
export function toLine(shape: Shape, message: object): Record<string, unknown> {
  const line: Record<string, unknown> = {};
  for (const [name, [field, type]] of Object.entries(shape)) {
    const value = (message as Values)[field];
    if (value === null || value === undefined) continue;
    const shown = toJson(type, value);
    // Only these two can be there and empty.
    const isOptional = field === 'content' || field === 'sourceUrl';
    if (shown !== undefined && (shown !== '' || isOptional)) line[name] = shown;
  }
  return line;
}

function toJson(type: Type, value: unknown): unknown {
  if (typeof type === 'object') return toLine(type, value as object);
  if (type === 'texts' || type === 'numbers')
    return Array.isArray(value) && value.length > 0 ? value : undefined;
  if (type === 'enum') return `${value}`.endsWith('_UNSPECIFIED') ? undefined : value;
  if (type === 'positive') return value === 0 ? undefined : value;
  if (type === 'type') return TYPES.find(([, message]) => message === value)?.[0];
  if (type !== 'time') return value;
  const { seconds, nanos } = value as { seconds: number; nanos: number };
  return new Date(seconds * 1000 + nanos / 1_000_000).toISOString();
}

/** The message of a line's fields. @throws Error that says which field is wrong, and how. */
export function fromLine(shape: Shape, line: Values): Record<string, unknown> {
  const message: Record<string, unknown> = {};
  for (const [name, [field, type]] of Object.entries(shape)) {
    const value = line[name];
    if (value !== null && value !== undefined) message[field] = fromJson(name, type, value);
  }
  return message;
}

function fromJson(name: string, type: Type, value: unknown): unknown {
  if (typeof type === 'object') {
    if (!isObject(value)) throw new Error(`${name} must be an object`);
    return fromLine(type, value);
  }
  if (type === 'number' || type === 'whole' || type === 'positive') {
    const isRight = typeof value === 'number' && (type === 'number' || isInt32(value));
    if (!isRight) throw new Error(`${name} must be a ${type === 'number' ? '' : 'whole '}number`);
    return value;
  }
  if (type === 'texts') {
    if (!Array.isArray(value) || !value.every(isText)) throw new Error(`${name} must be an array of texts`);
    return value;
  }
  if (type === 'numbers') {
    if (!Array.isArray(value) || !value.every((each) => typeof each === 'number'))
      throw new Error(`${name} must be an array of numbers`);
    return value;
  }
  if (!isText(value)) throw new Error(`${name} must be a text without U+0000`);
  if (type === 'time') return readInstant(name, value);
  if (type !== 'type') return value;
  const found = TYPES.find(([known]) => known === value);
  if (found === undefined)
    throw new Error(`${name} must be one of ${TYPES.map(([known]) => known).join(', ')}`);
  return found[1];
}

const isText = (value: unknown): value is string => typeof value === 'string' && isStorable(value);
const isInt32 = (value: number) => Number.isInteger(value) && Math.abs(value) < 2 ** 31;

function readInstant(name: string, text: string) {
  const time = parseDateTime(text.replace(' ', 'T'));
  if (time === undefined) throw new Error(`${name} must be an instant such as "2026-12-01T10:00:00.000Z"`);
  return toTimestamp(time);
}
