// Every function of the scheduling repositories, called with a database that only listens.
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Queryable, Statement } from '../../services/platform/postgres/database.ts';
import type { Material } from '../../services/scheduling/materials/material.ts';
import type { Review } from '../../services/scheduling/reviews/review.ts';
import { DEFAULT_SETTINGS } from '../../services/scheduling/reviews/scheduler.ts';
import { DEFAULT_LEECH_LAPSES, SHARE_USER } from '../../services/scheduling/rows.ts';
import { lastDays } from '../../services/scheduling/statistics/calendar.ts';

const root = dirname(dirname(import.meta.dirname));
const folder = join(root, 'services/scheduling');
const files = globSync('{rows,idempotency,clock,**/{sql,*-sql,search}}.ts', { cwd: folder });

const userId = '00000000-0000-7000-8000-000000000001';
const id = '00000000-0000-7000-8000-000000000002';
const time = new Date('2026-01-01T00:00:00Z');
const days = lastDays(time, 30, 'Europe/Berlin');
const key = { userId, rpc: 'SubmitReview', requestId: 'r' };
const schedule = { easeFactorHundredths: 250, intervalDays: 1, repetitions: 1 };
const material: Material = {
  materialId: id,
  title: 'T',
  content: null,
  sourceUrl: null,
  type: 'simple',
  ...schedule,
  revision: 1,
  nextReviewTime: time,
  lastReviewedTime: null,
  createTime: time,
  updateTime: time,
  archiveTime: null,
  labels: null,
};
const at = { ...schedule, nextReviewTime: time };
const review: Review = {
  reviewId: id,
  materialId: id,
  quality: 4,
  reviewTime: time,
  requestId: 'r',
  before: at,
  after: at,
  revision: 2,
  scheduler: 'sm2',
  settingsVersion: 0,
  undo: null,
};
const snooze = {
  snoozeId: id,
  snoozeUntilTime: time,
  reason: '',
  createTime: time,
  actor: '',
  requestId: '',
};
const baseline = {
  ...material,
  lastReviewedTime: time,
  sourceUpdateTime: time,
  importTime: time,
  textDigest: '00',
};
const whole = {
  isOwn: true,
  source: 'anki:1:0',
  baseline,
  reviews: [review],
  material: { ...material, labels: ['Spanish'] },
  snoozes: [
    {
      ...snooze,
      apiKeyId: null,
      cancelTime: null,
      position: 1,
      revision: 2,
      cancelRevision: null,
      beforeNextReviewTime: null,
      afterNextReviewTime: time,
    },
  ],
};
const snoozed = { beforeNextReviewTime: null, afterNextReviewTime: time, revision: 2 };
const filters = (['active', 'archived', 'any'] as const).flatMap((state) =>
  [undefined, 'card' as const].flatMap((type) =>
    [undefined, true, false].map((isDue) => ({
      state,
      type,
      isDue,
      labels: null,
      onlyLeeches: false,
      now: time,
    })),
  ),
);
const labelled = {
  state: 'active',
  type: 'card',
  isDue: true,
  labels: ['Spanish'],
  onlyLeeches: true,
  now: time,
} as const;
const settings = { ...DEFAULT_SETTINGS, leechLapses: DEFAULT_LEECH_LAPSES };
const page = { userId, maxRows: 5, maxBytes: 4096 };
const match = { createTime: time, materialId: id };
const ofMaterials = { materialIds: [id], maxRows: 5, beforeRevision: 9 };
/** A batch of one request, and one of two. */
const oneAndTwo = <Q>(request: Q) => [[request], [request, request]];
const noDays = { reviews: [], recalled: [], dues: [] };
const window = { asOf: time, days, minReviews: 1 };

/** Arguments after the database, by function: every way in which a statement can differ. */
const CALLS: Readonly<Record<string, readonly (readonly unknown[])[]>> = {
  claimIdempotencyKey: [[key, { fingerprint: Buffer.alloc(32), now: time, oldestLive: time }]],
  findIdempotencyRecord: [[key]],
  storeResponse: [[key, { response: {}, materialIds: [id] }]],
  deleteRecordsOfMaterial: [[userId, id]],
  deleteOldIdempotencyRecords: [[time]],
  countMaterials: [[userId], [undefined]],
  readHistories: [[userId, { limit: 5, after: { userId, materialId: id } }]],
  listNewestMaterials: oneAndTwo({ ...page, after: undefined }).map((all) => [all]),
  countByLabel: [[userId, { asOf: time, maxLabels: 10 }]],
  replaceLabels: [[userId, id, { before: ['French'], labels: ['Spanish'] }]],
  listSortedMaterials: ['newest', 'nextReview', 'lastReview', 'ease'].flatMap((sort) =>
    [...filters, labelled].map((filter) => [
      { sort, filter },
      { ...page, after: undefined },
    ]),
  ),
  countMaterialsOfUser: [[userId, time]],
  listDueMaterials: [undefined, { value: time, materialId: id }].flatMap((after) =>
    oneAndTwo({ ...page, asOf: time, after }).map((all) => [all]),
  ),
  searchMaterials: [...filters, labelled].flatMap((filter) =>
    ['e', 'th', 'word', 'two words', 'ß', '%_'].flatMap((text) =>
      [undefined, { ...match, inTitle: true }, { ...match, inTitle: false }].flatMap((after) =>
        [false, true].map((isDistributed) => [
          userId,
          { ...filter, text },
          { maxRows: 5, maxBytes: -1, after, isDistributed },
        ]),
      ),
    ),
  ),
  insertMaterial: [[userId, material]],
  findMaterials: oneAndTwo({ userId, materialId: id }).map((all) => [all]),
  findMaterialOwners: [[id.slice(-8), 5]],
  findMaterialsOfUser: [[userId, [id], true]],
  lockMaterials: [[userId, [id]]],
  findMaterialsToReview: oneAndTwo({ userId, materialId: id }).map((all) => [all]),
  lockMaterialToReview: [[userId, id]],
  updateMaterial: [[userId, material]],
  deleteMaterial: [[userId, { ...material, labels: ['Spanish'] }]],
  findSettings: [[userId]],
  readUpcoming: [[userId, { endTime: time, limit: 5 }]],
  lockLearner: [[userId], [userId, SHARE_USER]],
  readLapses: [[userId, [id]]],
  findReview: [[userId, id]],
  readAround: [[userId, review]],
  storeUndo: [[userId, { material, review }, { actor: 'a', requestId: 'r' }]],
  applyReviews: oneAndTwo({ userId, review, traceparent: undefined }).map((all) => [all]),
  listReviews: [[userId, { limit: 5, after: undefined, since: undefined }]],
  listReviewsOfMaterials: [[userId, ofMaterials]],
  listSummariesOfMaterials: [[userId, ofMaterials]],
  listSnoozes: [[userId, { limit: 5, after: undefined, now: time }]],
  readReviews: [[userId, { after: undefined, maxRows: 5 }]],
  readSnoozes: [[userId, { after: undefined, maxRows: 5, now: time }]],
  writeOnce: [],
  listSnoozesOfMaterial: [[userId, id, { limit: 5, beforeRevision: undefined, now: time }]],
  findSnooze: [[userId, id]],
  listCancellable: [[userId, id]],
  listBacklog: [
    [userId, { order: 'oldest', now: time, limit: 5 }],
    [userId, { order: 'hardest', now: time, limit: 5 }],
  ],
  countBacklog: [[userId, time]],
  countScheduled: [[userId, { now: time, starts: [time], end: time }]],
  cancelSnooze: [
    [{ userId, snoozeId: id, cancelTime: time }, [{ materialId: id, nextReviewTime: null, revision: 2 }]],
  ],
  insertSnooze: [[userId, snooze, [id, userId].map((materialId) => ({ ...snoozed, materialId }))]],
  readDueCounts: oneAndTwo({ userId, asOf: time, todayStartTime: time }).map((all) => [all]),
  readLabelledDueCount: [[{ userId, asOf: time, todayStartTime: time }, ['Spanish']]],
  readActivity: [[userId, time, days]],
  readDistributions: [[userId, time, days]],
  readForecast: [[userId, time, days]],
  listHardestMaterials: [[userId, window, { limit: 5, withTexts: true, after: undefined }]],
  readRetention: [[userId, time, days]],
  readGradedHistories: [null, [id]].map((materialIds) => [userId, { asOf: time, materialIds }]),
  findTraining: [[userId]],
  readRound: [[]],
  lockRound: [[]],
  storeRound: [[{ afterUserId: userId, nextTime: time }]],
  readBest: [[]],
  countBest: [[100]],
  storeBest: [[time, []]],
  listCandidates: [[userId, 5]],
  countReviews: [[[userId]]],
  storePrediction: [[userId, { reviews: 1, scoreTime: time, scoredReviews: 1, best: null, training: null }]],
  lockCount: [[]],
  readOverview: [[]],
  storeOverview: [[time, {}]],
  readProgress: [[]],
  storeProgress: [[undefined, time]],
  listScheduled: [[userId, { asOf: time, limit: 5 }]],
  readLearners: [[[userId]]],
  readDue: [[userId, time]],
  readReviewed: [[[userId], { fromTime: time, asOf: time }]],
  storeLearners: [[[{ userId, countedDay: 1, days: noDays, figures: {} }], time]],
  deleteOtherLearners: [[{ afterUserId: userId, lastUserId: id }, [userId]]],
  listLearners: ['due', 'reviews', 'retention', 'lastReview'].flatMap((order) =>
    ['all', 'backlogGrowing', 'streakBroken', 'wentQuiet'].map((filter) => [
      { order, filter },
      { limit: 5, after: undefined },
    ]),
  ),
  readMaterials: [[userId, { afterId: id, maxRows: 5, maxBytes: 1000 }]],
  readImported: [[userId, { after: undefined, maxRows: 5 }]],
  deleteUserData: [[userId, time]],
  readSettingsOf: [[userId]],
  insertSettings: [[userId, [{ ...settings, version: 1, createTime: time }]]],
  readBelongings: [[userId, [id]]],
  readReviewsByMaterial: [
    [userId, { after: { materialId: id, revision: 1 }, lastMaterialId: id, maxRows: 5 }],
  ],
  readAheadMs: [[userId]],
  storeAheadMs: [[userId, 1]],
  lockForImport: [[userId]],
  findKnown: [[userId, { materialIds: [id], sources: ['anki:1:0'] }]],
  readHistoriesOf: [[userId, [id]]],
  insertWhole: [[userId, [whole], { sortsIn: true }]],
  updateWhole: [[userId, [{ ...whole, before: whole.material, pastReviews: [review] }]]],
};

export type RecordedStatement = Omit<Statement, 'name'> & { functionName: string };

/** A row that has every column, each of a likely type. */
const anyRow: unknown = new Proxy({}, { get: (_, name) => likelyValue(String(name)) });

function likelyValue(name: string): unknown {
  if (/time$|^(first|last)$/i.test(name)) return time;
  if (name === 'reviewIds') return id;
  if (name === 'timesHere') return [time];
  if (/Ids$|_ids$/.test(name)) return [id];
  if (/Id$|_id$/.test(name)) return id;
  if (name === 'days') return noDays;
  if (name === 'scheduler') return 'fsrs';
  if (name === 'history') return [[4, 0]];
  return name === 'date' ? '2026-01-01' : 1;
}

/** Statements by the function that issued them, each text once; and functions that no call is written for, or no more. */
export async function recordStatements(): Promise<{
  statements: RecordedStatement[];
  uncalled: string[];
  unknown: string[];
}> {
  const heard = new Map<string, RecordedStatement>();
  const found = new Set<string>();
  for (const file of files) {
    const module: Record<string, unknown> = await import(join(folder, file));
    for (const [functionName, member] of Object.entries(module)) {
      // What asks the database waits for it: all else in these files only computes.
      if (typeof member !== 'function' || member.constructor.name !== 'AsyncFunction') continue;
      found.add(functionName);
      for (const rows of [[], [anyRow]]) {
        const db: Queryable = {
          async query<R>({ text, values }: Statement): Promise<R[]> {
            heard.set(`${functionName} ${text}`, { functionName, text, values });
            return rows as R[];
          },
        };
        for (const args of CALLS[functionName] ?? []) await member(db, ...args);
      }
    }
  }
  const uncalled = [...found].filter((name) => !Object.hasOwn(CALLS, name));
  return {
    statements: [...heard.values()],
    uncalled,
    unknown: Object.keys(CALLS).filter((name) => !found.has(name)),
  };
}

const flat = (text: string) => text.replace(/\s+/g, ' ').trim();

/**
 * Of every piece of SQL in the sources that names one of our tables, the longest unchanging part; and how often such a name
 * stands in a piece and in the code at all: were the two not equal, a piece would have been overlooked.
 */
export function writtenSql(): { pieces: string[]; names: number; namesInPieces: number } {
  const count = (text: string) => [...text.matchAll(/\bscheduling\./g)].length;
  const codes = files.map((file) =>
    readFileSync(join(folder, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, ''),
  );
  const literals = codes
    .flatMap((code) => [...code.matchAll(/`([^`]*)`|'([^'\n]*)'/g)])
    .map(([, template, quoted]) => template ?? quoted ?? '')
    .filter((literal) => count(literal) > 0);
  return {
    pieces: literals.map((literal) =>
      flat(literal.split(/\$\{[^}]*\}/).toSorted((a, b) => b.length - a.length)[0] ?? ''),
    ),
    names: count(codes.join('\n')),
    namesInPieces: count(literals.join('\n')),
  };
}

export const isRecorded = (piece: string, statements: readonly Pick<RecordedStatement, 'text'>[]) =>
  statements.some(({ text }) => flat(text).includes(piece));
