import { expect } from 'vitest';
import { ServiceError } from '../../services/platform/errors.ts';
import { type Given, test } from '../fixtures.ts';
import { inTime, openLock } from '../support/row-locks.ts';
import { refusal } from '../support/scheduling.ts';
import { ALL_SCOPES, type TestSystem, untilAvailable } from '../support/system.ts';

test.beforeAll(takeServices);

test.for([0b1, 0b10, 0b11, 0b101010, 0b111111])(
  'a rotated key has the scopes asked for if the old one, of set %i, had them all, and else there is none',
  async (old, { user: { userId } }) => {
    const { apiKeyId } = await here.createKey(userId, setOf(old));
    const before = await countKeys(userId);
    let replaced = 0;
    for (const asked of asksOf(old)) {
      const isNarrower = (asked & ~old) === 0;
      if (isNarrower) replaced += 1;
      const expected = isNarrower ? setOf(asked).toSorted() : 'INVALID_SCOPE';
      expect(await rotate(apiKeyId, setOf(asked)), `${setOf(asked)}`).toEqual(expected);
    }
    expect(await countKeys(userId)).toBe(before + replaced);
  },
);

test('a key that is revoked while its rotation waits is not replaced', async () => {
  const keys = await inTime(async () => {
    const { userId } = await here.createUser();
    const { apiKeyId } = await here.createKey(userId, ALL_SCOPES);
    const before = await countKeys(userId);
    const lock = await openLock(here.databaseUrl);
    const sent: Promise<unknown>[] = [];
    try {
      await lock.sql.query('SELECT FROM accounts.users WHERE user_id = $1 FOR UPDATE', [userId]);
      const { apiKeys } = here.accounts;
      for (const change of [apiKeys.revokeApiKey, apiKeys.rotateApiKey]) {
        sent.push(change({ apiKeyId }));
        await lock.untilWaiting(sent.length, Promise.all(sent));
      }
    } finally {
      await lock.close();
      await Promise.allSettled(sent);
    }
    await sent[0];
    const refused = await refusal(sent[1] ?? Promise.resolve());
    if (refused === 'UNAVAILABLE') await sent[1];
    return [refused, (await countKeys(userId)) - before];
  });
  expect(keys).toEqual(['NOT_FOUND', 0]);
});

let here: TestSystem;

function takeServices({ system }: Given<'system'>): void {
  here = system;
}

const setOf = (bits: number) => ALL_SCOPES.filter((_scope, index) => bits & (1 << index));

async function rotate(apiKeyId: string, scopes: string[]): Promise<unknown> {
  return untilAvailable(() => here.accounts.apiKeys.rotateApiKey({ apiKeyId, scopes })).then(
    ({ apiKey }) => apiKey?.scopes.toSorted(),
    (error: unknown) => (error instanceof ServiceError ? error.reason : error),
  );
}

async function countKeys(userId: string): Promise<number> {
  let count = 0;
  for (let pageToken = ''; ; ) {
    const page = await here.accounts.apiKeys.listApiKeys({ userId, pageSize: 100, pageToken });
    count += page.apiKeys.length;
    pageToken = page.nextPageToken;
    if (pageToken === '') return count;
  }
}

/** The sets to ask for in place of `old`: itself, each scope alone, and the set with one scope more or fewer. */
const asksOf = (old: number) =>
  new Set(
    [old, ...ALL_SCOPES.flatMap((_scope, index) => [1 << index, old ^ (1 << index)])].filter(
      (set) => set > 0,
    ),
  );
