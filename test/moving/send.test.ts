// The calls in which npm run import sends a collection, and what it says where it stops early.
import { expect } from 'vitest';
import type { ImportUserDataRequestInput } from '../../generated/scheduling/v1/ImportUserDataRequest.ts';
import type { MaterialRecordInput } from '../../generated/scheduling/v1/MaterialRecord.ts';
import { goOn } from '../../services/programs/import/report.ts';
import { emptyOutcome, type ImportCall, sendRecords } from '../../services/programs/import/send.ts';
import { test } from '../fixtures.ts';

test.for([
  ['100 cards without reviews', 0, [100, 100, 50]],
  ['1,000 reviews', 20, [50, 50, 50, 50, 50]],
] as const)('a call has %s, and two are on their way', async ([_what, reviews, sizes]) => {
  const { seen, call } = stub();
  const outcome = emptyOutcome();
  await sendRecords(call, cards(250, reviews), sending, outcome);
  expect(seen.sizes).toEqual(sizes);
  expect(seen.most).toBe(2);
  expect(seen.sources).toEqual(Array.from({ length: 250 }, (_, index) => `s${index}`));
  expect(outcome.materials.new).toBe(250);
});

test('a long history stays in one call, and what follows it is in the next', async () => {
  const { seen, call } = stub();
  async function* records(): AsyncGenerator<MaterialRecordInput> {
    const reviews = Array(600).fill(review);
    yield { material: { title: 'T' }, source: 'long', reviews, continues: true };
    yield { source: 'long', reviews, continues: true };
    yield { source: 'long', reviews };
    yield* cards(1, 0);
  }
  await sendRecords(call, records(), sending, emptyOutcome());
  expect(seen.sources).toEqual(['long', 'long', 'long', 's0']);
  expect(seen.sizes).toEqual([3, 1]);
});

test('where it is stopped within a material, the rest of it is sent, and nothing after it', async () => {
  const { seen, call } = stub();
  let isStopped = false;
  async function* records(): AsyncGenerator<MaterialRecordInput> {
    yield { material: { title: 'T' }, source: 'begun', reviews: [review], continues: true };
    isStopped = true;
    yield { source: 'begun', reviews: [review] };
    yield* cards(1, 0);
  }
  await sendRecords(call, records(), { ...sending, isStopped: () => isStopped }, emptyOutcome());
  expect(seen.sources).toEqual(['begun', 'begun']);
});

test.for([
  [false, [1, 0, 0]],
  [true, [1, 1]],
] as const)(
  'in a dry run, %s, the settings come with each call, else in one before',
  async ([dryRun, sent]) => {
    const { seen, call } = stub();
    const settings = [{ version: 1 }];
    await sendRecords(call, cards(200, 0), { ...sending, dryRun, settings }, emptyOutcome());
    expect(seen.settings).toEqual(sent);
  },
);

test('of a problem that several calls tell of, five examples are kept', async () => {
  const call: ImportCall = async (messages) => {
    const examples = sourcesOf(messages).slice(0, 3);
    return {
      materials: none,
      reviews: none,
      problems: [{ kind: 'IMPORT_PROBLEM_KIND_TITLE', count: 3, examples }],
    };
  };
  const outcome = emptyOutcome();
  await sendRecords(call, cards(300, 0), sending, outcome);
  expect(outcome.problems).toEqual([
    { kind: 'IMPORT_PROBLEM_KIND_TITLE', count: 9, examples: ['s0', 's1', 's2', 's100', 's101'] },
  ]);
});

test('where a call fails, what the one behind it stored still counts, and no other is sent', async () => {
  const { seen, call } = stub((number) => number === 2);
  const outcome = emptyOutcome();
  await expect(sendRecords(call, cards(1000, 0), sending, outcome)).rejects.toThrow('refused');
  expect(seen.sizes).toEqual([100, 100, 100]);
  expect(outcome.materials.new).toBe(200);
});

test('where the last call fails, so does the import', async () => {
  const { call } = stub((number) => number === 3);
  const outcome = emptyOutcome();
  await expect(sendRecords(call, cards(250, 0), sending, outcome)).rejects.toThrow('refused');
  expect(outcome.materials.new).toBe(200);
});

test.for([
  [false, 'Stopped after 200 materials, which are stored. Run the same command again to go on.'],
  [true, 'Stopped after 200 materials; nothing was changed.'],
] as const)('an import that stops early, as a dry run: %s, says what is stored', ([dryRun, said]) => {
  const outcome = emptyOutcome();
  outcome.materials.new = 200;
  expect(goOn(outcome, dryRun)).toBe(said);
});

const none = { new: 0, changed: 0, unchanged: 0, leftOut: 0 };
const review = { reviewId: '1', quality: 4 };

const sending = { userId: 'u', dryRun: false, settings: [], advance() {}, isStopped: () => false };

async function* cards(count: number, reviews: number): AsyncGenerator<MaterialRecordInput> {
  for (let index = 0; index < count; index += 1)
    yield { material: { title: `T${index}` }, source: `s${index}`, reviews: Array(reviews).fill(review) };
}

const sourcesOf = (messages: Iterable<ImportUserDataRequestInput>) =>
  [...messages].flatMap(({ materials = [] }) => materials).map(({ source = '' }) => source);

/** Answers each call, some turns later, with its materials as new; `sizes` are theirs, `most` how many were on their way at once. */
function stub(refuses: (call: number) => boolean = () => false) {
  const seen = { sizes: [] as number[], sources: [] as string[], settings: [] as number[], most: 0 };
  let underWay = 0;
  const call: ImportCall = async (messages) => {
    const sources = sourcesOf(messages);
    seen.settings.push([...messages].flatMap(({ settings = [] }) => settings).length);
    const number = seen.sizes.push(sources.length);
    seen.sources.push(...sources);
    underWay += 1;
    seen.most = Math.max(seen.most, underWay);
    await new Promise((resolve) => setTimeout(resolve, 5));
    underWay -= 1;
    if (refuses(number)) throw new Error('refused');
    return { materials: { ...none, new: sources.length }, reviews: none, problems: [] };
  };
  return { seen, call };
}
