// The rpc ImportUserData of scheduling.v1.UserDataService: a collection is stored in batches, each in a short transaction of its own.
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { ImportUserDataRequest } from '../../../generated/scheduling/v1/ImportUserDataRequest.ts';
import type { MaterialRecord } from '../../../generated/scheduling/v1/MaterialRecord.ts';
import type { SettingsVersion } from '../../../generated/scheduling/v1/SettingsVersion.ts';
import type { UserDataServiceHandlers } from '../../../generated/scheduling/v1/UserDataService.ts';
import { atMost, atMostPerKey } from '../../platform/concurrency.ts';
import { invalidField } from '../../platform/errors.ts';
import type { AsyncHandlers } from '../../platform/grpc/handlers.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { requireUserId } from '../../platform/uuid.ts';
import { type HandlerDependencies, userDeleted } from '../requests.ts';
import type { Settings } from '../reviews/scheduler.ts';
import { insertSettings, lockMaterials } from '../rows.ts';
import {
  type Changed,
  type Known,
  type Locked,
  mayChange,
  newReviews,
  scheduleFields,
  takeForeign,
  takeOwn,
} from './decide.ts';
import { findKnown, insertWhole, lockForImport, readHistoriesOf, updateWhole } from './import-sql.ts';
import { textOf, type WholeMaterial } from './record.ts';
import {
  digestOf,
  nameOf,
  type Problem,
  type ProblemKind,
  readRecord,
  readSettingsVersions,
} from './record-messages.ts';
import { findDrift } from './replay.ts';
import { readSettingsOf } from './sql.ts';

/** A batch ends at the first of these. Other requests are served between batches. */
const MATERIALS_AT_A_TIME = 50;
const REVIEWS_AT_A_TIME = 200;
const BYTES_AT_A_TIME = 64 * 1024;
/** Sorting new materials into the search index costs less for many together. */
const BATCHES_SORTED_AT_A_TIME = 5;
/** Batches stored at once, of all users: others keep the rest of the connections and of the CPU. */
const AT_ONCE = 1;
const STATEMENT_TIMEOUT_MS = 20_000;
const MAX_EXAMPLES = 5;

export function createImportHandlers({ database, now, newId }: HandlerDependencies) {
  const limit = atMost(AT_ONCE);
  /** Only one batch per user waits for `limit`, so that a user with many imports does not slow those of others. */
  const limitOfUser = atMostPerKey<string>(1);

  /** Runs `work` in a short transaction in which nobody else imports for the user. */
  const inTurn = <T>({ userId, signal }: Asked, work: (transaction: Queryable) => Promise<T>) =>
    limitOfUser(userId, () =>
      limit(async () => {
        signal.throwIfAborted();
        const lockAndWork = async (transaction: Queryable) => {
          if (!(await lockForImport(transaction, userId))) throw userDeleted();
          return work(transaction);
        };
        return database.transaction(lockAndWork, { statementTimeoutMs: STATEMENT_TIMEOUT_MS });
      }),
    );

  const storeSettings = async (asked: Asked, settings: ReturnType<typeof readSettingsVersions>) => {
    await inTurn(asked, async (transaction) => {
      const { length } = await readSettingsOf(transaction, asked.userId);
      if (length === 0) await insertSettings(transaction, asked.userId, settings);
    });
  };

  const importAll = async (asked: Asked, messages: AsyncIterable<ImportUserDataRequest>) => {
    const { userId } = asked;
    const report = createReport();
    const seen = new Set<string>();
    const reviewIds = new Set<string>();
    let unstored: readonly Settings[] = [];
    const records = wholeRecords(messages, async (versions) => {
      const settings = readSettingsVersions(versions);
      if (asked.isDryRun) unstored = settings;
      else await storeSettings(asked, settings);
    });
    const store = ({ records: batch, sortsIn }: Batch) =>
      inTurn(asked, async (transaction) => {
        const readTime = async () => now(userId, transaction);
        const { inserts, updates } = await decide(transaction, userId, batch, { readTime, unstored, report });
        if (asked.isDryRun) return;
        await insertWhole(transaction, userId, inserts, { sortsIn });
        await updateWhole(transaction, userId, updates);
      });
    /** undefined: it is left out. */
    const readOnce = (message: MaterialRecord, now: Date): WholeMaterial | undefined => {
      const keys = keysOf(message);
      if (keys.some((key) => seen.has(key)))
        return void report.leaveOut(message, 'DUPLICATE', 'it came before');
      const { record, problems } = readRecord(message, { now, newId, reviewIds });
      for (const problem of problems) report.add(problem);
      const leftOut = message.reviews.length - (record?.reviews.length ?? 0);
      report.count({ materials: { leftOut: record === undefined ? 1 : 0 }, reviews: { leftOut } });
      if (record !== undefined) for (const key of keys) seen.add(key);
      return record;
    };
    const beginBatch = async () => {
      const readTime = await now(userId);
      return (message: MaterialRecord) => readOnce(message, readTime);
    };
    for await (const batch of batchesOf(records, beginBatch)) await store(batch);
    return report.toMessage();
  };

  return {
    async ImportUserData(requests, { signal }) {
      const messages = requests[Symbol.asyncIterator]();
      const { userId, isDryRun } = readOptions((await messages.next()).value);
      const rest = { [Symbol.asyncIterator]: () => messages };
      return importAll({ userId, isDryRun, signal }, rest);
    },
  } satisfies Partial<AsyncHandlers<UserDataServiceHandlers>>;
}

type Asked = { userId: string; isDryRun: boolean; signal: AbortSignal };

function readOptions(first: ImportUserDataRequest | undefined): { userId: string; isDryRun: boolean } {
  const options = first?.options ?? null;
  if (options === null) throw invalidField('options', 'must be given in the first message.');
  if ((first?.materials.length ?? 0) > 0) throw invalidField('materials', 'must follow in other messages.');
  return { userId: requireUserId(options.userId), isDryRun: options.dryRun };
}

/** The ID and the source, if given: no two materials of a user share one. */
function keysOf({ material, source }: MaterialRecord): string[] {
  return [material?.materialId ?? '', source].filter((key) => key !== '');
}

/** The records of the messages, each with all its parts. */
async function* wholeRecords(
  messages: AsyncIterable<ImportUserDataRequest>,
  takeSettings: (settings: readonly SettingsVersion[]) => Promise<void>,
): AsyncGenerator<MaterialRecord> {
  let begun: MaterialRecord | undefined;
  for await (const { options, settings, materials } of messages) {
    if (options !== null) throw invalidField('options', 'must be given in the first message alone.');
    if (settings.length > 0) await takeSettings(settings);
    await yieldToEventLoop();
    for (const part of materials) {
      const record: MaterialRecord = begun === undefined ? part : joined(begun, part);
      begun = part.continues ? record : undefined;
      if (begun === undefined) yield record;
    }
  }
  if (begun !== undefined)
    throw invalidField('materials', 'must hold the rest of the last one, which continues.');
}

/** Of reviews and snoozes of a material, so that what it continues with stays within memory. */
const MAX_PARTS = 250_000;

function joined(begun: MaterialRecord, part: MaterialRecord): MaterialRecord {
  if (part.material !== null)
    throw invalidField('materials', 'must not name a material where one continues.');
  if (begun.reviews.length + begun.snoozes.length > MAX_PARTS)
    throw invalidField('materials', `must have at most ${MAX_PARTS} reviews and snoozes each.`);
  for (const review of part.reviews) begun.reviews.push(review);
  for (const snooze of part.snoozes) begun.snoozes.push(snooze);
  return begun;
}

/** `sortsIn`: whether to sort its materials, and those of earlier batches, into the search index. */
type Batch = { records: WholeMaterial[]; sortsIn: boolean };

/**
 * `begin` returns what reads a batch's messages as they arrive, so that none is kept in memory; undefined: left out.
 */
async function* batchesOf(
  messages: AsyncIterable<MaterialRecord>,
  begin: () => Promise<(message: MaterialRecord) => WholeMaterial | undefined>,
): AsyncGenerator<Batch> {
  let read = await begin();
  let records: WholeMaterial[] = [];
  let [batches, reviews, bytes] = [0, 0, 0];
  for await (const message of messages) {
    const record = read(message);
    if (record === undefined) continue;
    const isFull =
      records.length >= MATERIALS_AT_A_TIME || reviews >= REVIEWS_AT_A_TIME || bytes >= BYTES_AT_A_TIME;
    if (isFull) {
      batches += 1;
      yield { records, sortsIn: batches % BATCHES_SORTED_AT_A_TIME === 0 };
      [records, reviews, bytes] = [[], 0, 0];
      read = await begin();
    }
    records.push(record);
    reviews += record.reviews.length + record.snoozes.length;
    bytes += record.material.content?.length ?? 0;
  }
  if (records.length > 0) yield { records, sortsIn: true };
}

/** What is to be stored of materials that the user does not have, and of those that have changed. */
type Decided = {
  inserts: WholeMaterial[];
  updates: (Changed & { before: Locked['material']; source: string })[];
};

/** `unstored`: the settings that came with a dry run, and would be the user's if there are none. */
type DecideBy = { readTime: () => Promise<Date>; unstored: readonly Settings[]; report: Report };

/** What becomes of materials with distinct IDs and sources. The transaction has the lock of the user's imports. */
async function decide(
  transaction: Queryable,
  userId: string,
  batch: readonly WholeMaterial[],
  by: DecideBy,
): Promise<Decided> {
  const { report } = by;
  const known = await findKnown(transaction, userId, {
    materialIds: batch.filter((record) => record.isOwn).map(({ material }) => material.materialId),
    sources: batch.map(({ source }) => source).filter((source) => source !== ''),
  });
  const byId = new Map(known.map((each) => [each.materialId, each]));
  const bySource = new Map(known.map((each) => [each.source, each]));
  const fresh: WholeMaterial[] = [];
  const candidates = new Map<string, { incoming: WholeMaterial; there: Known }>();
  for (const incoming of batch) {
    const there = incoming.isOwn ? byId.get(incoming.material.materialId) : bySource.get(incoming.source);
    const isTaken = there === undefined && incoming.source !== '' && bySource.has(incoming.source);
    if (isTaken) report.leaveOut(incoming, 'DUPLICATE', 'the user has another material of this source');
    else if (there === undefined) fresh.push(incoming);
    // Two records match one material: by its ID and by its source.
    else if (candidates.has(there.materialId)) report.leaveOut(incoming, 'DUPLICATE', 'it came before');
    else if (mayChange(incoming, there)) candidates.set(there.materialId, { incoming, there });
    else report.count({ materials: { unchanged: 1 }, reviews: knownReviews(incoming, there, report) });
  }
  return {
    inserts: await insertsOf(transaction, userId, fresh, by),
    updates: await updatesOf(transaction, userId, [...candidates.values()], by),
  };
}

/** Materials that the user does not have. */
async function insertsOf(
  transaction: Queryable,
  userId: string,
  fresh: WholeMaterial[],
  by: DecideBy,
): Promise<WholeMaterial[]> {
  for (const { reviews } of fresh)
    by.report.count({ materials: { new: 1 }, reviews: { new: reviews.length } });
  if (!fresh.some((record) => record.isOwn)) return fresh;
  const stored = await readSettingsOf(transaction, userId);
  const settings = stored.length > 0 ? stored : by.unstored;
  const time = await by.readTime();
  return fresh.map((record) =>
    record.isOwn ? withoutDrift(record, settings, { report: by.report, time }) : record,
  );
}

/** A record of this service. If its schedule does not follow from its history, that begins anew with the schedule. */
function withoutDrift(
  record: WholeMaterial,
  settings: readonly Settings[],
  { report, time }: { report: Report; time: Date },
): WholeMaterial {
  const { material, source, baseline, reviews, snoozes } = record;
  const [drift] = findDrift(material, reviews, snoozes, settings, baseline);
  if (drift === undefined) return record;
  report.add({ kind: 'DRIFT', example: `${nameOf(record)}: ${drift}` });
  return {
    ...record,
    source: source || `export:${material.materialId}`,
    baseline: {
      ...scheduleFields(material),
      revision: material.revision,
      importTime: time,
      sourceUpdateTime: baseline?.sourceUpdateTime ?? null,
      textDigest: baseline?.textDigest ?? digestOf(textOf(material)),
    },
  };
}

/** Materials that the user has, and that may change. */
async function updatesOf(
  transaction: Queryable,
  userId: string,
  candidates: readonly { incoming: WholeMaterial; there: Known }[],
  { report, readTime }: DecideBy,
): Promise<Decided['updates']> {
  if (candidates.length === 0) return [];
  const materialIds = candidates.map(({ there }) => there.materialId);
  const locked = new Map(
    (await lockMaterials(transaction, userId, materialIds)).map((each) => [each.materialId, each]),
  );
  // Under the lock, so that no material's update time goes back.
  const time = await readTime();
  const { pastReviews, reviewedHere } = await readHistoriesOf(transaction, userId, materialIds);
  const updates: Decided['updates'] = [];
  for (const { incoming, there } of candidates) {
    const material = locked.get(there.materialId);
    // Deleted in this moment.
    if (material === undefined) {
      report.leaveOut(incoming, 'HISTORY', 'the material was deleted meanwhile');
      continue;
    }
    const lockedThere: Locked = {
      material,
      baseline: there.baseline,
      pastReviews: pastReviews.get(there.materialId) ?? [],
      reviewedHere: reviewedHere.get(there.materialId),
    };
    const added = incoming.isOwn ? [] : newReviews(incoming, there);
    const change = incoming.isOwn
      ? takeOwn(incoming, lockedThere)
      : takeForeign(incoming, lockedThere, { added, now: time, digestOf });
    if (change !== undefined) updates.push({ ...change, before: material, source: there.source });
    report.count({
      materials: change === undefined ? { unchanged: 1 } : { changed: 1 },
      reviews: knownReviews(incoming, there, report),
    });
  }
  return updates;
}

/** Counts the reviews of a record whose material the user has. */
function knownReviews(incoming: WholeMaterial, there: Known, report: Report): Partial<Count> {
  const added = newReviews(incoming, there).length;
  const unchanged = incoming.reviews.length - added;
  if (!incoming.isOwn || added === 0) return { new: added, unchanged };
  const example = `${nameOf(incoming)}: ${added} reviews are not in its history here`;
  report.add({ kind: 'HISTORY', example }, added);
  return { leftOut: added, unchanged };
}

type Count = { new: number; changed: number; unchanged: number; leftOut: number };
type Counts = { materials?: Partial<Count>; reviews?: Partial<Count> };

function sum(a: Partial<Count> = {}, b: Partial<Count> = {}): Count {
  const of = (name: keyof Count) => (a[name] ?? 0) + (b[name] ?? 0);
  return { new: of('new'), changed: of('changed'), unchanged: of('unchanged'), leftOut: of('leftOut') };
}

type Report = ReturnType<typeof createReport>;

/** What an import did, over all batches. */
function createReport() {
  let materials = sum();
  let reviews = sum();
  const problems = new Map<ProblemKind, { count: number; examples: string[] }>();
  const count = (counted: Counts) => {
    materials = sum(materials, counted.materials);
    reviews = sum(reviews, counted.reviews);
  };
  const add = ({ kind, example }: Problem, times = 1) => {
    const known = problems.get(kind) ?? { count: 0, examples: [] };
    known.count += times;
    if (known.examples.length < MAX_EXAMPLES && !known.examples.includes(example))
      known.examples.push(example);
    problems.set(kind, known);
  };
  return {
    count,
    /** A problem, and how often there is this one. */
    add,
    leaveOut(record: WholeMaterial | MaterialRecord, kind: ProblemKind, reason: string) {
      add({ kind, example: `${nameOf(record)}: ${reason}` });
      count({ materials: { leftOut: 1 }, reviews: { leftOut: record.reviews.length } });
    },
    toMessage: () => ({
      materials,
      reviews,
      problems: [...problems]
        .sort(([, a], [, b]) => b.count - a.count)
        .map(([kind, found]) => ({ kind: `IMPORT_PROBLEM_KIND_${kind}` as const, ...found })),
    }),
  };
}
