// Our own form: what is written is what is read.
import protobuf from 'protobufjs';
import { expect, test } from 'vitest';
import type { MaterialRecord } from '../../generated/scheduling/v1/MaterialRecord.ts';
import type { SettingsVersion } from '../../generated/scheduling/v1/SettingsVersion.ts';
import {
  BASELINE,
  MATERIAL,
  REVIEW,
  SCHEDULE,
  SETTINGS,
  SNOOZE,
  SNOOZE_OF_MATERIAL,
} from '../../services/moving/jsonl/fields.ts';
import { writeJsonl } from '../../services/moving/jsonl/write.ts';
import { ownFolder, readFileOf } from '../support/moving.ts';
import { exportOf, NEW_RECORD, REVIEWED_RECORD, textOf } from '../support/records.ts';

test.each([
  ['Material', MATERIAL],
  ['Schedule', SCHEDULE],
  ['Review', REVIEW],
  ['Snooze', SNOOZE],
  ['SnoozeOfMaterial', SNOOZE_OF_MATERIAL],
  ['ImportBaseline', BASELINE],
  ['SettingsVersion', SETTINGS],
])('no field of %s is missing', async (name, shape) => {
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => `proto/${target}`;
  await root.load('scheduling/v1/user_data_service.proto');
  // What follows from the materials that a snooze stands with.
  const derived = ['materialIds', 'materialCount', 'movedMaterials', 'cancellableMaterials'];
  const fields = root.lookupType(`scheduling.v1.${name}`).fieldsArray.map((field) => field.name);
  expect(
    Object.values(shape)
      .map(([field]) => field)
      .sort(),
  ).toEqual(fields.filter((field) => !derived.includes(field)).sort());
});

test('an export is a line an object, with the kind first, and says how many there are', async () => {
  const lines = (await written([REVIEWED_RECORD, NEW_RECORD])).trimEnd().split('\n');
  expect(lines.map((line) => /^\{"kind":"(\w+)"/.exec(line)?.[1])).toEqual([
    'collection',
    'material',
    'review',
    'review',
    'snooze',
    'material',
    'end',
  ]);
  expect(JSON.parse(lines[1] ?? '')).toMatchObject({
    title: 'reviewed',
    type: 'flashcard',
    ef: 2.36,
    source: 'anki:g:0',
  });
  expect(JSON.parse(lines.at(-1) ?? '')).toEqual({ kind: 'end', materials: 2, reviews: 2, snoozes: 1 });
});

const SETTINGS_VERSION: SettingsVersion = {
  version: 1,
  scheduler: 'SCHEDULER_FSRS',
  desiredRetention: 0.9,
  timeZone: 'Europe/Berlin',
  parameters: [0.1, 2],
  leechLapses: 5,
  createTime: { seconds: 1_777_622_400, nanos: 0 },
};

test('versions of the settings stand before the materials, and are read again', async () => {
  const text = await written([NEW_RECORD], [SETTINGS_VERSION]);
  expect(JSON.parse(text.split('\n')[1] ?? '')).toMatchObject({
    kind: 'settings',
    version: 1,
    parameters: [0.1, 2],
    leechLapses: 5,
  });
  expect((await readFileOf(await folder.file(text))).settings).toEqual([SETTINGS_VERSION]);
});

test('what is read is written again as the same bytes', async () => {
  const text = await written([REVIEWED_RECORD, NEW_RECORD]);
  const { records } = await readFileOf(await folder.file(text));
  // As they arrive from scheduling: with what is absent.
  const filled = records.map((record) => ({ baseline: null, continues: false, snoozes: [], ...record }));
  expect(await written(filled as unknown as MaterialRecord[])).toBe(text);
});

test.each([0, 1, 3, 5])('an export that ends after line %i is refused', async (count) => {
  const lines = (await written([REVIEWED_RECORD, NEW_RECORD])).split('\n').slice(0, count + 1);
  await expect(readFileOf(await folder.file(`${lines.join('\n')}\n`))).rejects.toThrow('cut off');
});

test('a script needs no more than a kind and a title', async () => {
  const review = { kind: 'review', quality: 0, reviewedAt: '2026-05-01T10:00:00+02:00' };
  const { records } = await read({ kind: 'material', title: 'a', labels: ['x'] }, review, {
    kind: 'material',
    title: 'b',
  });
  expect(records.map(({ source }) => source)).toEqual([
    expect.stringMatching(/^jsonl:/),
    expect.stringMatching(/^jsonl:/),
  ]);
  expect(records[0]?.reviews).toEqual([
    { reviewId: '1777622400.0', quality: 0, reviewTime: { seconds: 1_777_622_400, nanos: 0 } },
  ]);
});

test('a material with over 500 reviews is several records', async () => {
  const reviews = Array.from({ length: 501 }, (_, second) => ({
    kind: 'review',
    id: `${second}`,
    quality: 4,
  }));
  const { records } = await read({ kind: 'material', title: 'a' }, ...reviews);
  expect(records.map(({ reviews: part, continues }) => [part?.length, continues])).toEqual([
    [500, true],
    [1, undefined],
  ]);
});

test('a material of more than 768 KiB of text is left out with its reviews, and named; the others come over', async () => {
  const { records, reasons } = await read(
    { kind: 'material', title: 'long', source: 's', content: 'x'.repeat(800_000) },
    { kind: 'review', quality: 4, reviewedAt: '2026-05-01T10:00:00Z' },
    { kind: 'material', title: 'short', content: 'x'.repeat(780_000) },
    { kind: 'review', quality: 5, reviewedAt: '2026-05-01T10:00:00Z' },
  );
  expect(records.map(({ material, reviews }) => [material?.title, reviews?.[0]?.quality])).toEqual([
    ['short', 5],
  ]);
  expect(reasons).toEqual([
    { reason: 'it has more than 768 KiB of text', count: 1, examples: ['s'] },
    { reason: 'it has more than 768 KiB of text (its reviews)', count: 1, examples: [] },
  ]);
});

test('a material that comes again is left out with its reviews, and named, however far behind it is', async () => {
  const others = Array.from({ length: 200 }, (_, index) => ({ kind: 'material', title: `${index}` }));
  const { records, reasons } = await read(
    { kind: 'material', title: 'bank', content: 'money' },
    ...others,
    { kind: 'material', title: 'bank', content: 'river' },
    { kind: 'review', quality: 4, reviewedAt: '2026-05-01T10:00:00Z' },
    { kind: 'material', title: 'last' },
  );
  expect(records.map(({ material }) => material?.content ?? material?.title)).toEqual([
    'money',
    ...others.map(({ title }) => title),
    'last',
  ]);
  expect(reasons).toEqual([
    { reason: 'it is there twice', count: 1, examples: [records[0]?.source] },
    { reason: 'it is there twice (its reviews)', count: 1, examples: [] },
  ]);
});

const material = { kind: 'material', title: 'a' };
test.each<[object[], string]>([
  [[{ kind: 'review' }], 'Line 1: a review comes before its material.'],
  [[material, { kind: 'x' }], 'Line 2 has an unknown kind: "x".'],
  [[{ ...material, ef: '2.5' }], 'Line 1: ef must be a number.'],
  [[{ ...material, interval: 1.5 }], 'Line 1: interval must be a whole number.'],
  [[{ ...material, type: 'book' }], 'Line 1: type must be one of simple, material, flashcard, card.'],
  [
    [{ ...material, nextReview: 'soon' }],
    'Line 1: nextReview must be an instant such as "2026-12-01T10:00:00.000Z".',
  ],
  [[{ ...material, nextReview: '2026-02-30T10:00:00Z' }], 'Line 1: nextReview must be an instant such as'],
  [[{ ...material, labels: [1] }], 'Line 1: labels must be an array of texts.'],
  [[{ ...material, content: 'a\u0000' }], 'Line 1: content must be a text without U+0000.'],
  [[{ ...material, baseline: { revision: '1' } }], 'Line 1: revision must be a whole number.'],
  [[{ ...material, baseline: { schedule: [] } }], 'Line 1: schedule must be an object.'],
  [[{ kind: 'collection', version: 2 }], 'Line 1 begins a collection of a version'],
  [[material, material, { kind: 'end', materials: 1 }], 'Line 3 says materials: 1, but the file has 2.'],
])('%j: refused', async (lines, message) => {
  await expect(read(...lines)).rejects.toThrow(message);
});

const folder = ownFolder();

const read = async (...lines: object[]) =>
  readFileOf(await folder.file(lines.map((line) => `${JSON.stringify(line)}\n`).join('')));
const written = (records: readonly MaterialRecord[], settings: readonly SettingsVersion[] = []) =>
  textOf(writeJsonl(exportOf(records, settings)));
