import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ServiceError } from '../../services/platform/errors.ts';
import { inTime, openLock } from '../support/row-locks.ts';
import { refusal } from '../support/scheduling.ts';
import { ALL_SCOPES, startSystem, type TestSystem, untilAvailable } from '../support/system.ts';

const CALL = { requestId: 'test' };
/** Users whose keys are rotated side by side; those of one user are made one by one. */
const USERS = 8;
let here: TestSystem;
beforeAll(async () => {
  here = await startSystem();
});
afterAll(() => here.stop());

const setOf = (bits: number) => ALL_SCOPES.filter((_scope, index) => bits & (1 << index));

async function rotate(apiKeyId: string, scopes: string[]): Promise<unknown> {
  return untilAvailable(() => here.accounts.apiKeys.rotateApiKey({ apiKeyId, scopes }, CALL)).then(
    ({ apiKey }) => apiKey?.scopes.toSorted(),
    (error: unknown) => (error instanceof ServiceError ? error.reason : error),
  );
}

async function countKeys(userId: string): Promise<number> {
  let count = 0;
  for (let pageToken = ''; ; ) {
    const page = await here.accounts.apiKeys.listApiKeys({ userId, pageSize: 100, pageToken }, CALL);
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

describe('a rotated key', () => {
  test('has the scopes asked for if the old one, of any of 63 sets, had them all, and else there is none', async () => {
    const counts = Array.from({ length: USERS }, async (_, turn) => {
      const { userId } = await here.createUser();
      for (let old = 1 + turn; old < 64; old += USERS) {
        const { apiKeyId } = await here.createKey(userId, setOf(old));
        for (const asked of asksOf(old)) {
          const expected = (asked & ~old) === 0 ? setOf(asked).toSorted() : 'INVALID_SCOPE';
          expect(await rotate(apiKeyId, setOf(asked)), `${setOf(asked)} of ${setOf(old)}`).toEqual(expected);
        }
      }
      return countKeys(userId);
    });
    const made = (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
    // Each of the 63 sets is replaced by itself, by its scopes alone (192) and by itself less one scope (186). Counted twice
    // are a set of one scope, which is its scope alone (6), and a set of two less one, which is a scope alone (30).
    expect(made).toBe(USERS + 63 + 63 + 192 + 186 - 6 - 30);
  });
});

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
        sent.push(change({ apiKeyId }, CALL));
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
