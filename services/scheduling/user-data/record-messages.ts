// Records of an import: read from their messages and checked, and named where they are left out.
import { hash } from 'node:crypto';
import type { ImportBaseline } from '../../../generated/scheduling/v1/ImportBaseline.ts';
import type { ImportProblemKind } from '../../../generated/scheduling/v1/ImportProblemKind.ts';
import type { Material as MaterialMessage } from '../../../generated/scheduling/v1/Material.ts';
import type { MaterialRecord, MaterialRecordInput } from '../../../generated/scheduling/v1/MaterialRecord.ts';
import type { Review as ReviewMessage } from '../../../generated/scheduling/v1/Review.ts';
import type { Schedule as ScheduleMessage } from '../../../generated/scheduling/v1/Schedule.ts';
import type {
  SettingsVersion,
  SettingsVersionInput,
} from '../../../generated/scheduling/v1/SettingsVersion.ts';
import type { SnoozeOfMaterial as SnoozeMessage } from '../../../generated/scheduling/v1/SnoozeOfMaterial.ts';
import { hasReason, invalidField } from '../../platform/errors.ts';
import { fromTimestamp, type Timestamp, toOptionalTimestamp, toTimestamp } from '../../platform/instants.ts';
import { MAX_LABELS, toLabel } from '../../platform/labels.ts';
import { beginningOf, isStorable, printable } from '../../platform/text.ts';
import { isTimeZone } from '../../platform/time-zone.ts';
import { isUuid, namedUuid } from '../../platform/uuid.ts';
import type { Material, MaterialText } from '../materials/material.ts';
import {
  readScheduler,
  TEXTS,
  toMaterialMessage,
  toReviewMessage,
  toScheduleMessage,
  toSchedulerMessage,
} from '../messages.ts';
import type { Review, Undo } from '../reviews/review.ts';
import { DEFAULT_SETTINGS, isDesiredRetention } from '../reviews/scheduler.ts';
import {
  INITIAL_SCHEDULE,
  isQuality,
  MAX_INTERVAL_DAYS,
  MAX_REPETITIONS,
  MIN_EASE_FACTOR_HUNDREDTHS,
  type ScheduleAt,
} from '../reviews/sm2.ts';
import { DEFAULT_LEECH_LAPSES, isLeechLapses, type LearnerSettings } from '../rows.ts';
import { MAX_SPREAD_DAYS } from '../snoozes/spread.ts';
import {
  type Baseline,
  type ForeignReview,
  textOf,
  toPastReviews,
  type WholeMaterial,
  type WholeSnooze,
} from './record.ts';

const MAX_SOURCE_BYTES = 500;
const MAX_REVIEW_ID_BYTES = 100;
const MAX_REVIEWS = 100_000;
const MAX_EASE_FACTOR_HUNDREDTHS = 10_000_000;
/** When something took place, and when a card of another program is due. */
const TIMES_MS = { min: 0, max: Date.UTC(9998, 0, 1) - 1, years: '1970 to 9997' };
/** When a material of this service is due, and until when it was snoozed. */
const OWN_DUE_TIMES_MS = { min: 0, max: Date.UTC(10_000, 0, 1) - 1, years: '1970 to 9999' };
/** After a later review, the longest interval would end after the year 9997. */
const MAX_FOREIGN_REVIEW_MS = TIMES_MS.max - MAX_INTERVAL_DAYS * 86_400_000;

/** The names in the proto, without their prefix. */
export type ProblemKind = ImportProblemKind extends `IMPORT_PROBLEM_KIND_${infer Name}` ? Name : never;
export type Problem = { kind: ProblemKind; example: string };

/** A record as it is to be stored, and what was wrong with it. `record` undefined: the material was left out. */
type ReadRecord = { record: WholeMaterial | undefined; problems: Problem[] };

/** Thrown where the material is left out. */
class LeftOut extends Error {
  readonly kind: ProblemKind;
  constructor(kind: ProblemKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** SHA-256 in hexadecimal. */
export const digestOf = (text: string) => hash('sha256', text);

/**
 * `newId` makes the ID of a material that was made at that time. `reviewIds`: of reviews of this service that came before, to which
 * those of the record are added.
 */
export function readRecord(
  message: MaterialRecord,
  { now, newId, reviewIds }: { now: Date; newId: (time: Date) => string; reviewIds: Set<string> },
): ReadRecord {
  const problems: Problem[] = [];
  const name = nameOf(message);
  const addProblem = (kind: ProblemKind, problem: string) => {
    problems.push({ kind, example: beginningOf(printable(`${name}: ${problem}`), 300) });
  };
  const record = attempt(addProblem, '', () => {
    const { material } = message;
    if (material === null) throw new LeftOut('ID', 'the record has no material');
    return material.materialId === ''
      ? readForeign(message, material, { now, newId, addProblem })
      : readOwn(message, material, { reviewIds, addProblem });
  });
  return { record, problems };
}

/** How a problem names a material. */
export function nameOf({
  source,
  material,
}: {
  source: string;
  material: { materialId: string; title: string } | null;
}): string {
  const id = source || material?.materialId || 'no ID';
  return `${id.slice(0, 100)} ${JSON.stringify(beginningOf(material?.title ?? '', 60))}`;
}

type AddProblem = (kind: ProblemKind, problem: string) => void;

function readForeign(
  message: MaterialRecord,
  material: MaterialMessage,
  { now, newId, addProblem }: { now: Date; newId: (time: Date) => string; addProblem: AddProblem },
): WholeMaterial {
  const source = requireSource(message.source);
  const schedule = readSchedule({
    ...material,
    easeFactor: material.easeFactor || INITIAL_SCHEDULE.easeFactorHundredths / 100,
  });
  const createTime = readTime(material.createTime, 'create_time') ?? now;
  const sourceUpdateTime = readTime(material.updateTime, 'update_time');
  const read: Material = {
    ...readTexts(material, addProblem),
    ...schedule,
    materialId: newId(createTime),
    lastReviewedTime: readTime(material.lastReviewedTime, 'last_reviewed_time'),
    createTime,
    updateTime: now,
    revision: 0,
    archiveTime: readTime(material.archiveTime, 'archive_time'),
  };
  const baseline: Baseline = {
    ...schedule,
    lastReviewedTime: read.lastReviewedTime,
    importTime: now,
    sourceUpdateTime,
    textDigest: digestOf(textOf(read)),
    revision: 0,
  };
  const kept = new Map<string, ForeignReview>();
  for (const [index, review] of withinLimit(message.reviews, addProblem).entries()) {
    attempt(addProblem, `review ${index + 1}: `, () => {
      const foreign = readForeignReview(review, source);
      if (kept.has(foreign.reviewId)) throw new LeftOut('DUPLICATE', 'its review_id came before');
      kept.set(foreign.reviewId, foreign);
    });
  }
  return {
    isOwn: false,
    material: read,
    source,
    baseline,
    reviews: toPastReviews(read.materialId, [...kept.values()]),
    snoozes: [],
  };
}

function readForeignReview(message: ReviewMessage, source: string): ForeignReview {
  const { reviewId: idThere, before, after } = message;
  if (idThere === '' || Buffer.byteLength(idThere) > MAX_REVIEW_ID_BYTES)
    throw new LeftOut('ID', `its review_id must have 1 to ${MAX_REVIEW_ID_BYTES} bytes`);
  const reviewTime = requireTime(message.reviewTime, 'review_time');
  if (reviewTime.getTime() > MAX_FOREIGN_REVIEW_MS)
    throw new LeftOut('TIME', 'after its review_time, the longest interval would end after the year 9997');
  return {
    reviewId: namedUuid(reviewTime, `${source}\n${idThere}`),
    quality: readQuality(message),
    reviewTime,
    before: before === null ? undefined : readSchedule(before),
    after: after === null ? undefined : readSchedule(after),
  };
}

function readOwn(
  message: MaterialRecord,
  material: MaterialMessage,
  { reviewIds, addProblem }: { reviewIds: Set<string>; addProblem: AddProblem },
): WholeMaterial {
  const { materialId, revision } = material;
  if (!isUuid(materialId)) throw new LeftOut('ID', 'material_id is not a UUID in lower case');
  const source = message.source === '' ? '' : requireSource(message.source);
  if (revision < 0) throw new LeftOut('ID', 'revision is negative');
  if (source === '' && message.baseline !== null) throw new LeftOut('ID', 'it has a baseline and no source');
  const read: Material = {
    ...readTexts(material, addProblem),
    ...readSchedule(material, OWN_DUE_TIMES_MS),
    materialId,
    revision,
    lastReviewedTime: readTime(material.lastReviewedTime, 'last_reviewed_time'),
    createTime: requireTime(material.createTime, 'create_time'),
    updateTime: requireTime(material.updateTime, 'update_time'),
    archiveTime: readTime(material.archiveTime, 'archive_time'),
  };
  const baseline = message.baseline === null ? null : readBaseline(message.baseline);
  // An export reads a material before its reviews and snoozes, so that some of these can be later than it.
  const refuseLater = (event: { revision: number }) => {
    if (event.revision > revision) throw new LeftOut('HISTORY', 'it is later than its material');
  };
  const reviews = new Map<number, Review>();
  for (const [index, review] of withinLimit(message.reviews, addProblem).entries()) {
    attempt(addProblem, `review ${index + 1}: `, () => {
      const own = readOwnReview(review, material);
      refuseLater(own);
      if (reviewIds.has(own.reviewId) || reviews.has(own.revision))
        throw new LeftOut('DUPLICATE', 'its review_id or revision came before');
      reviewIds.add(own.reviewId);
      reviews.set(own.revision, own);
    });
  }
  const snoozes = new Map<number, WholeSnooze>();
  for (const [index, snooze] of message.snoozes.entries()) {
    attempt(addProblem, `snooze ${index + 1}: `, () => {
      const read = readSnooze(snooze, material);
      refuseLater(read);
      if (snoozes.has(read.revision)) throw new LeftOut('DUPLICATE', 'its revision came before');
      snoozes.set(read.revision, read);
    });
  }
  const byRevision = [...reviews.values()].sort((a, b) => a.revision - b.revision);
  return {
    isOwn: true,
    material: read,
    source,
    baseline,
    reviews: byRevision,
    snoozes: [...snoozes.values()],
  };
}

function readOwnReview(message: ReviewMessage, material: MaterialMessage): Review {
  const { reviewId, revision, settingsVersion } = message;
  if (!isUuid(reviewId)) throw new LeftOut('ID', 'its review_id is not a UUID in lower case');
  const { before, after } = message;
  if (before === null || after === null) throw new LeftOut('SCHEDULE', 'it lacks before or after');
  const scheduleAfter = readSchedule(after, OWN_DUE_TIMES_MS);
  const requestId = readShort(message.requestId, 'request_id');
  return {
    reviewId,
    materialId: material.materialId,
    revision,
    quality: readQuality(message),
    reviewTime: requireTime(message.reviewTime, 'review_time'),
    requestId: requestId === '' ? null : requestId,
    apiKeyId: isUuid(message.apiKeyId) ? message.apiKeyId : null,
    before: readSchedule(before, OWN_DUE_TIMES_MS),
    after: {
      ...scheduleAfter,
      nextReviewTime: scheduleAfter.nextReviewTime ?? requireTime(null, 'after.next_review_time'),
    },
    scheduler: readScheduler(message.scheduler) ?? DEFAULT_SETTINGS.scheduler,
    settingsVersion,
    undo: readUndo(message, material),
  };
}

/** null: not undone, or only after the material was read. */
function readUndo(
  { undoTime, undoActor, undoRevision }: ReviewMessage,
  { revision }: MaterialMessage,
): Undo | null {
  if (undoTime === null || undoRevision > revision) return null;
  return {
    undoTime: requireTime(undoTime, 'undo_time'),
    actor: readShort(undoActor, 'undo_actor'),
    revision: undoRevision,
  };
}

function readSnooze(message: SnoozeMessage, material: MaterialMessage): WholeSnooze {
  const { snooze, position, revision, cancelRevision } = message;
  if (snooze === null || !isUuid(snooze.snoozeId))
    throw new LeftOut('ID', 'its snooze_id is not a UUID in lower case');
  if (position < 1 || position > 32_767) throw new LeftOut('ID', 'its position is out of range');
  return {
    snoozeId: snooze.snoozeId,
    position,
    revision,
    cancelRevision:
      cancelRevision !== undefined && cancelRevision <= material.revision ? cancelRevision : null,
    spreadDays: snooze.spreadDays >= 1 && snooze.spreadDays <= MAX_SPREAD_DAYS ? snooze.spreadDays : null,
    reason: readShort(snooze.reason, 'reason'),
    actor: readShort(snooze.actor, 'actor'),
    requestId: readShort(snooze.requestId, 'request_id'),
    apiKeyId: isUuid(snooze.apiKeyId) ? snooze.apiKeyId : null,
    snoozeUntilTime: requireTime(snooze.snoozeUntilTime, 'snooze_until_time', OWN_DUE_TIMES_MS),
    createTime: requireTime(snooze.createTime, 'create_time'),
    cancelTime: readTime(snooze.cancelTime, 'cancel_time'),
    beforeNextReviewTime: readTime(message.beforeNextReviewTime, 'before_next_review_time', OWN_DUE_TIMES_MS),
    afterNextReviewTime: requireTime(message.afterNextReviewTime, 'after_next_review_time', OWN_DUE_TIMES_MS),
  };
}

function readBaseline(message: ImportBaseline): Baseline {
  const { revision, schedule, textDigest } = message;
  if (schedule === null || revision < 0 || !/^[0-9a-f]{64}$/.test(textDigest))
    throw new LeftOut('SCHEDULE', 'its baseline is not whole');
  return {
    ...readSchedule(schedule, OWN_DUE_TIMES_MS),
    revision,
    textDigest,
    importTime: requireTime(message.importTime, 'baseline.import_time'),
    sourceUpdateTime: readTime(message.sourceUpdateTime, 'baseline.source_update_time'),
    lastReviewedTime: readTime(message.lastReviewedTime, 'baseline.last_reviewed_time'),
  };
}

/** What `read` returns; undefined if it throws LeftOut, which is added as a problem that begins with `what`. */
function attempt<T>(addProblem: AddProblem, what: string, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof LeftOut)) throw error;
    addProblem(error.kind, `${what}${error.message}`);
    return undefined;
  }
}

function withinLimit(reviews: readonly ReviewMessage[], addProblem: AddProblem): readonly ReviewMessage[] {
  for (let index = MAX_REVIEWS; index < reviews.length; index += 1)
    addProblem('TOO_MANY', `review ${index + 1}: a material has at most ${MAX_REVIEWS}`);
  return reviews.slice(0, MAX_REVIEWS);
}

/** A source URL or label that is not valid is left out; another text that is not valid leaves the material out. */
function readTexts(message: MaterialMessage, addProblem: AddProblem): MaterialText {
  const readSourceUrl = () => checked('SOURCE_URL', () => TEXTS.sourceUrl(message));
  return {
    title: checked('TITLE', () => TEXTS.title(message)),
    content: checked('TEXT', () => TEXTS.content(message)),
    sourceUrl: attempt(addProblem, '', readSourceUrl) ?? null,
    type: TEXTS.type(message),
    labels: readLabels(message.labels, addProblem),
  };
}

/** Turns INVALID_REQUEST, for which a request would be refused, into LeftOut. */
function checked<T>(kind: ProblemKind, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw hasReason(error, 'INVALID_REQUEST') ? new LeftOut(kind, error.message) : error;
  }
}

function readLabels(texts: readonly string[], addProblem: AddProblem): string[] | null {
  const labels = new Set<string>();
  for (const text of texts) {
    const label = toLabel(text);
    if (label === undefined) addProblem('LABEL', `${JSON.stringify(beginningOf(text, 80))} is no label`);
    else if (labels.size === MAX_LABELS && !labels.has(label))
      addProblem('LABEL', `it has more than ${MAX_LABELS} labels`);
    else labels.add(label);
  }
  return labels.size === 0 ? null : [...labels];
}

function readSchedule(message: ScheduleMessage | MaterialMessage, dueTimes = TIMES_MS): ScheduleAt {
  const { easeFactor, intervalDays, repetitions } = message;
  const easeFactorHundredths = Math.round(easeFactor * 100);
  const isEase =
    easeFactorHundredths >= MIN_EASE_FACTOR_HUNDREDTHS && easeFactorHundredths <= MAX_EASE_FACTOR_HUNDREDTHS;
  if (!isEase) throw new LeftOut('SCHEDULE', `the ease factor is ${easeFactor}`);
  if (intervalDays < 0 || intervalDays > MAX_INTERVAL_DAYS)
    throw new LeftOut('SCHEDULE', `the interval is ${intervalDays} days`);
  if (repetitions < 0 || repetitions > MAX_REPETITIONS)
    throw new LeftOut('SCHEDULE', `the repetitions are ${repetitions}`);
  const nextReviewTime = readTime(message.nextReviewTime, 'next_review_time', dueTimes);
  return { easeFactorHundredths, intervalDays, repetitions, nextReviewTime };
}

function readQuality({ quality }: ReviewMessage) {
  if (quality === undefined || !isQuality(quality)) throw new LeftOut('QUALITY', `the quality is ${quality}`);
  return quality;
}

function readTime(timestamp: Timestamp | null, field: string, times = TIMES_MS): Date | null {
  if (timestamp === null) return null;
  const ms = timestamp.seconds * 1000 + Math.floor(timestamp.nanos / 1_000_000);
  if (ms >= times.min && ms <= times.max) return new Date(ms);
  throw new LeftOut('TIME', `${field} lies outside the years ${times.years}`);
}

function requireTime(timestamp: Timestamp | null, field: string, times = TIMES_MS): Date {
  const time = readTime(timestamp, field, times);
  if (time === null) throw new LeftOut('TIME', `${field} is absent`);
  return time;
}

function requireSource(source: string): string {
  if (source !== '' && isStorable(source) && Buffer.byteLength(source) <= MAX_SOURCE_BYTES) return source;
  throw new LeftOut('ID', `the source must have 1 to ${MAX_SOURCE_BYTES} bytes`);
}

/** Of a snooze or a request. */
function readShort(text: string, field: string): string {
  if (isStorable(text) && text.length <= 1000) return text;
  throw new LeftOut('TEXT', `${field} holds U+0000 or is too long`);
}

/** The message that an export hands out, and an import takes. */
export function toRecordMessage({
  material,
  source,
  baseline,
  reviews,
  snoozes,
}: Omit<WholeMaterial, 'isOwn'>): MaterialRecordInput {
  return {
    material: toMaterialMessage(material),
    source,
    baseline: baseline && {
      importTime: toTimestamp(baseline.importTime),
      sourceUpdateTime: toOptionalTimestamp(baseline.sourceUpdateTime),
      textDigest: baseline.textDigest,
      revision: baseline.revision,
      schedule: toScheduleMessage(baseline),
      lastReviewedTime: toOptionalTimestamp(baseline.lastReviewedTime),
    },
    reviews: reviews.map(toReviewMessage),
    snoozes: snoozes.map(toSnoozeOfMaterialMessage),
  };
}

function toSnoozeOfMaterialMessage(snooze: WholeSnooze) {
  const { snoozeId, reason, actor, requestId, position, revision, cancelRevision, spreadDays } = snooze;
  return {
    snooze: {
      snoozeId,
      reason,
      actor,
      requestId,
      apiKeyId: snooze.apiKeyId ?? '',
      spreadDays: spreadDays ?? 0,
      snoozeUntilTime: toTimestamp(snooze.snoozeUntilTime),
      createTime: toTimestamp(snooze.createTime),
      cancelTime: toOptionalTimestamp(snooze.cancelTime),
    },
    position,
    revision,
    ...(cancelRevision !== null && { cancelRevision }),
    beforeNextReviewTime: toOptionalTimestamp(snooze.beforeNextReviewTime),
    afterNextReviewTime: toTimestamp(snooze.afterNextReviewTime),
  };
}

type SettingsOf = LearnerSettings & { createTime: Date };

export function toSettingsMessage({
  parameters,
  scheduler,
  createTime,
  ...settings
}: SettingsOf): SettingsVersionInput {
  return {
    ...settings,
    parameters: [...(parameters ?? [])],
    scheduler: toSchedulerMessage(scheduler),
    createTime: toTimestamp(createTime),
  };
}

const PARAMETERS = 21;

/** All versions of a learner's settings. @throws INVALID_REQUEST, field settings */
export function readSettingsVersions(messages: readonly SettingsVersion[]): SettingsOf[] {
  const settings = messages.map(readSettingsVersion);
  if (new Set(settings.map(({ version }) => version)).size < settings.length)
    throw invalidField('settings', 'must not have a version twice.');
  return settings;
}

function readSettingsVersion({ createTime, ...message }: SettingsVersion): SettingsOf {
  const { version, desiredRetention, timeZone, parameters } = message;
  // An export of before leeches has none.
  const leechLapses = message.leechLapses || DEFAULT_LEECH_LAPSES;
  const scheduler = readScheduler(message.scheduler);
  const isWhole =
    version >= 1 &&
    isDesiredRetention(desiredRetention) &&
    isTimeZone(timeZone) &&
    isLeechLapses(leechLapses) &&
    (parameters.length === 0 || (parameters.length === PARAMETERS && parameters.every(Number.isFinite)));
  if (scheduler === undefined || createTime === null || !isWhole)
    throw invalidField('settings', 'must be as ExportUserData handed them out.');
  return {
    version,
    scheduler,
    desiredRetention,
    timeZone,
    leechLapses,
    parameters: parameters.length === 0 ? null : parameters,
    createTime: fromTimestamp(createTime, 'settings'),
  };
}
