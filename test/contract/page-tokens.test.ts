// No page token, whoever made it, leads to anything but a page or a refusal that names it: in every paged rpc.
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { type Given, test } from '../fixtures.ts';
import { newUserId, refusal, type TestScheduling } from '../support/scheduling.ts';
import { ALL_SCOPES, type TestSystem, untilAvailable } from '../support/system.ts';

test.beforeAll(prepare);

describe.each(Object.entries(lists()))('%s', (name, list) => {
  test('refuses every forged token by its field', async () => {
    const token = await firstToken();
    expect(await outcome(token)).toBe('no error');
    const forged = [...forgeries(token)];
    const outcomes = await Promise.all(forged.map(outcome));
    expect(forged.filter((_, index) => outcomes[index] !== REFUSED)).toEqual([]);
  });

  test('refuses the tokens of all others', async () => {
    for (const [other, listOther] of Object.entries(lists())) {
      if (other === name) continue;
      const { nextPageToken } = await listOther({ pageSize: 1, pageToken: '' });
      expect([other, await outcome(nextPageToken)]).toEqual([other, REFUSED]);
    }
  });

  test('answers a page or refuses, whatever bytes a token has', async () => {
    const token = await firstToken();
    const bytes = [...Buffer.from(token, 'base64url')];
    const change = fc.record({
      at: fc.nat(bytes.length - 1),
      removed: fc.nat(3),
      added: fc.uint8Array({ maxLength: 3 }),
    });
    const mutated = fc
      .array(change, { minLength: 1, maxLength: 3 })
      .map((changes) =>
        changes.reduce((now, { at, removed, added }) => now.toSpliced(at, removed, ...added), bytes),
      );
    const anyToken = fc.oneof(
      mutated.map((changed) => Buffer.from(changed).toString('base64url')),
      fc
        .uint8Array({ minLength: 1, maxLength: 300 })
        .map((random) => Buffer.from(random).toString('base64url')),
      fc.json().map(encode),
      fc.string({ unit: 'binary', minLength: 1 }).map((text) => text.toWellFormed()),
    );
    await fc.assert(
      fc.asyncProperty(anyToken, async (pageToken) => {
        expect(['no error', REFUSED]).toContain(await outcome(pageToken));
      }),
      { numRuns: 60, seed: 11 },
    );
  });

  const firstToken = async () => (await list({ pageSize: 1, pageToken: '' })).nextPageToken;
  const outcome = (pageToken: string) => refusal(untilAvailable(() => list({ pageSize: 1, pageToken })));
});

const REFUSED = 'INVALID_REQUEST page_token';

let scheduling: TestScheduling;
let system: TestSystem;

async function prepare({
  scheduling: sharedScheduling,
  system: sharedSystem,
}: Given<'scheduling' | 'system'>): Promise<void> {
  [scheduling, system] = [sharedScheduling, sharedSystem];
  await fill();
}

const userId = newUserId();
let materialId = '';
let keyOwnerId = '';

const window = { timeZone: 'Europe/Berlin', days: 30 };

type List = (page: { pageSize: number; pageToken: string }) => Promise<{ nextPageToken: string }>;

/** Two rows of everything that is listed. */
async function fill(): Promise<void> {
  for (const title of ['Quokka', 'Another quokka']) {
    materialId = await scheduling.create(userId, title);
    for (const quality of [4, 1]) await scheduling.reviews.submitReview({ userId, materialId, quality });
    await scheduling.reviews.submitReview({ userId, materialId, quality: 3 });
  }
  await scheduling.sql.query('UPDATE scheduling.materials SET next_review_time = NULL WHERE user_id = $1', [
    userId,
  ]);
  for (const preset of ['SNOOZE_PRESET_ONE_HOUR', 'SNOOZE_PRESET_TOMORROW'] as const) {
    await scheduling.snoozes.snoozeMaterials({ userId, materialIds: [materialId], preset, timeZone: 'UTC' });
  }
  await scheduling.create(userId, 'Due');
  await scheduling.create(userId, 'Due as well');
  ({ userId: keyOwnerId } = await system.createUser());
  await system.createKey(keyOwnerId, ALL_SCOPES);
  await system.createUser();
}

const encode = (text: string) => Buffer.from(text).toString('base64url');

/** JSON of what no row can have where a token holds an instant, a count or a revision, which is negative for an imported review. */
const ODD_VALUES = [
  '-0',
  '1e308',
  '1e3',
  '1.5',
  '-2147483649',
  '8640000000000000',
  '-8640000000000000',
  '253402300800000',
  '9007199254740993',
  'true',
  '""',
  '"1"',
  '{}',
  '[]',
];

/** A token of the list's own with each of its parts replaced by something odd, added or left out. */
function* forgeries(token: string): Generator<string> {
  const parts = (JSON.parse(Buffer.from(token, 'base64url').toString()) as unknown[]).map((part) =>
    JSON.stringify(part),
  );
  const toToken = (changed: readonly string[]) => encode(`[${changed.join(',')}]`);
  for (const [index] of parts.entries()) {
    for (const odd of ODD_VALUES) yield toToken(parts.with(index, odd));
    yield toToken(parts.toSpliced(index, 1));
    yield toToken(parts.toSpliced(index, 0, '1'));
  }
  for (const long of [`[${'0,'.repeat(50_000)}0]`, '['.repeat(50_000) + ']'.repeat(50_000)])
    yield toToken(parts.with(-1, long));
  yield toToken([]);
  yield encode(`[${parts.join(', ')}]`);
  yield encode(`${parts}`);
  yield `${token}=`;
  yield `${token}!`;
  yield token.toUpperCase();
  yield 'A'.repeat(100_000);
}

function lists(): Record<string, List> {
  return {
    ListMaterials: (page) => scheduling.materials.listMaterials({ userId, ...page }),
    'ListMaterials by query': (page) =>
      scheduling.materials.listMaterials({ userId, query: 'quokka', ...page }),
    'ListMaterials by type': (page) =>
      scheduling.materials.listMaterials({ userId, type: 'MATERIAL_TYPE_SIMPLE', ...page }),
    ListDueMaterials: (page) => scheduling.materials.listDueMaterials({ userId, ...page }),
    ListReviews: (page) => scheduling.reviews.listReviews({ userId, ...page }),
    'ListReviews of a material': (page) => scheduling.reviews.listReviews({ userId, materialId, ...page }),
    ListSnoozes: (page) => scheduling.snoozes.listSnoozes({ userId, ...page }),
    'ListSnoozes of a material': (page) => scheduling.snoozes.listSnoozes({ userId, materialId, ...page }),
    ListHardestMaterials: (page) => scheduling.stats.listHardestMaterials({ userId, window, ...page }),
    ListAllEvents: (page) => system.events.listAllEvents(page),
    ListUsers: (page) => system.accounts.users.listUsers(page),
    ListApiKeys: (page) => system.accounts.apiKeys.listApiKeys({ userId: keyOwnerId, ...page }),
  };
}
